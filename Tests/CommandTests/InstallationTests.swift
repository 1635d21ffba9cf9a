import Foundation
import LockstepCommandLine
import LockstepTestSupport
import Testing

/// Tests the installation into a folder. `deploy/test-packages` tests it on a system.
@Suite("Installation")
struct InstallationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    private static let page = root + "/Sources/LockstepServe/Page"
    private static let joinPage = root + "/Sources/LockstepGateway/Page"

    private func run(_ script: String, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run("\(Self.root)/deploy/\(script)", arguments, within: .seconds(120))
    }

    /// Returns the files below a folder with their permissions.
    private func files(in folder: String) throws -> [String: Int] {
        var files: [String: Int] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
            guard attributes[.type] as? FileAttributeType != .typeDirectory else { continue }
            files[path] = (attributes[.posixPermissions] as? NSNumber)?.intValue
        }
        return files
    }

    private var programs: String { (Programs.built("lockstep") as NSString).deletingLastPathComponent }

    @Test(
        "programs, units, rules and settings are installed, and uninstalled except for modified settings")
    func everything() async throws {
        try await withTemporaryFolder { folder in
            let options = ["--destdir", folder, "--prefix", "/opt/lockstep"]
            let installed = try await run("install", options + ["--binaries", programs])
            #expect(installed.status == 0, "\(installed.text)")
            let page = try files(in: Self.page).keys
            #expect(page.contains("openapi.json"))
            let join =
                try FileManager.default.fileExists(atPath: Self.joinPage) ? Array(files(in: Self.joinPage).keys) : []
            let expected = Dictionary(
                uniqueKeysWithValues: page.map { ("opt/lockstep/share/lockstep/page/\($0)", 0o644) }
                    + join.map { ("opt/lockstep/share/lockstep/join/\($0)", 0o644) }
                    + ["", "-agent", "-collector", "-serve", "-gateway"].map {
                        ("opt/lockstep/share/bash-completion/completions/lockstep\($0)", 0o644)
                    })
            #expect(
                try files(in: folder)
                    == expected.merging([
                        "opt/lockstep/bin/lockstep": 0o755,
                        "opt/lockstep/bin/lockstep-agent": 0o755,
                        "opt/lockstep/bin/lockstep-collector": 0o755,
                        "opt/lockstep/bin/lockstep-serve": 0o755,
                        "opt/lockstep/bin/lockstep-gateway": 0o755,
                        "opt/lockstep/share/lockstep/broker/development.conf": 0o644,
                        "opt/lockstep/share/lockstep/broker/production.acl": 0o644,
                        "opt/lockstep/share/lockstep/broker/production.conf": 0o644,
                        "opt/lockstep/share/lockstep/monitoring/alerts.yaml": 0o644,
                        "opt/lockstep/share/lockstep/monitoring/dashboard.json": 0o644,
                        "etc/systemd/system/lockstep-agent.service": 0o644,
                        "etc/systemd/system/lockstep-collector.service": 0o644,
                        "etc/systemd/system/lockstep-serve.service": 0o644,
                        "etc/systemd/system/lockstep-gateway.service": 0o644,
                        "etc/udev/rules.d/60-lockstep-iio.rules": 0o644,
                        "etc/lockstep/agent.yaml": 0o640,
                        "etc/lockstep/collector.yaml": 0o640,
                        "etc/lockstep/serve.yaml": 0o640,
                        "etc/lockstep/gateway.yaml": 0o640,
                    ]) { $1 })
            let unit = try String(
                contentsOfFile: folder + "/etc/systemd/system/lockstep-agent.service", encoding: .utf8)
            let completion = try String(
                contentsOfFile: folder + "/opt/lockstep/share/bash-completion/completions/lockstep", encoding: .utf8)
            #expect(completion.contains("complete ") && completion.contains("--store"))
            #expect(unit.contains("\nExecStart=/opt/lockstep/bin/lockstep-agent --config /etc/lockstep/agent.yaml\n"))

            try "device: mine\n".write(toFile: folder + "/etc/lockstep/agent.yaml", atomically: true, encoding: .utf8)
            let again = try await run("install", options + ["--binaries", programs, "agent"])
            #expect(again.status == 0, "\(again.text)")
            let removed = try await run("uninstall", options)
            #expect(removed.status == 0, "\(removed.text)")
            #expect(try files(in: folder).keys.sorted() == ["etc/lockstep/agent.yaml"])
            let settings = try String(contentsOfFile: folder + "/etc/lockstep/agent.yaml", encoding: .utf8)
            #expect(settings == "device: mine\n")
            let purged = try await run("uninstall", options + ["--purge"])
            #expect(purged.status == 0, "\(purged.text)")
            #expect(try files(in: folder).isEmpty)
        }
    }

    @Test("the programs accept the example settings", arguments: ["agent", "collector", "serve", "gateway"])
    func examples(part: String) async throws {
        try await withTemporaryFolder { folder in
            // Also enable the lines that are commented out, except for certificates, which would have to exist.
            let example = try String(contentsOfFile: "\(Self.root)/deploy/settings/\(part).yaml", encoding: .utf8)
            let lines = example.components(separatedBy: "\n").map { line in
                line.hasPrefix("#") && !line.hasPrefix("# ") && !line.contains("-file:") && !line.contains("tls-")
                    ? String(line.dropFirst()) : line
            }
            let path = folder + "/settings.yaml"
            try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            // The invalid log level is detected after the file was accepted.
            let run = try await RunningProgram.run(
                Programs.built("lockstep-\(part)"), ["--config", path, "--log-level", "silence"])
            #expect(run.text.contains("'silence' is not a log level"), "\(run.text)")
        }
    }

    @Test(
        "invalid arguments are refused with the reason",
        arguments: [
            ("install", ["--prefix"], "--prefix takes a value"), ("install", ["everything"], "unknown argument"),
            ("install", ["--binaries", "/nowhere", "--destdir", "/nowhere"], "/nowhere/lockstep-agent is missing"),
            ("install", ["--destdir", "a b"], "takes a folder"), ("uninstall", ["--all"], "unknown argument '--all'"),
            ("deb", ["--revision", "x"], "whole number"), ("test-packages", ["--fast"], "unknown argument"),
            ("test-kernel", ["--fast"], "unknown argument"),
        ])
    func wrongUse(script: String, arguments: [String], reason: String) async throws {
        let run = try await run(script, arguments)
        #expect(run.status != 0)
        #expect(run.text.contains(reason), "\(run.text)")
    }
}
