import Foundation
import LockstepCommandLine
import LockstepTestSupport
import Testing

/// Tests the content of the packages. `deploy/test-packages` installs them.
@Suite("Installation", .enabled(if: Programs.isInstalled("dpkg-shlibdeps"), "dpkg-dev is not installed"))
struct InstallationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    private static let page = root + "/Sources/LockstepServe/Page"
    private static let joinPage = root + "/Sources/LockstepGateway/Page"

    private func run(_ script: String, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run("\(Self.root)/deploy/\(script)", arguments, within: .seconds(120))
    }

    /// Returns the files below a folder.
    private func files(in folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder).filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }
    }

    private var programs: String { (Programs.built("lockstep") as NSString).deletingLastPathComponent }

    @Test("packages have programs, units, rules, settings and pages, with the rights that they need")
    func packages() async throws {
        try await withTemporaryFolder { folder in
            let built = try await run("deb", ["--binaries", programs, "--out", folder, "--fast"])
            #expect(built.status == 0, "\(built.text)")
            var content = ""
            for package in try FileManager.default.contentsOfDirectory(atPath: folder) where package.hasSuffix(".deb") {
                content += try await RunningProgram.run("/usr/bin/dpkg-deb", ["--contents", "\(folder)/\(package)"])
                    .text
            }
            var rights: [String: String] = [:]
            for line in content.split(separator: "\n") where line.hasPrefix("-") {
                let fields = line.split(separator: " ")
                if let right = fields.first, let path = fields.last {
                    rights[String(path.dropFirst(2))] = String(right)
                }
            }
            for part in ["agent", "collector", "serve", "gateway"] {
                #expect(rights["usr/bin/lockstep-\(part)"] == "-rwxr-xr-x")
                #expect(rights["lib/systemd/system/lockstep-\(part).service"] == "-rw-r--r--")
                #expect(rights["etc/lockstep/\(part).yaml"] == "-rw-r-----")
                #expect(rights["usr/share/bash-completion/completions/lockstep-\(part)"] == "-rw-r--r--")
            }
            for path in [
                "lib/udev/rules.d/60-lockstep-iio.rules", "usr/share/lockstep/broker/production.acl",
                "usr/share/lockstep/monitoring/alerts.yaml", "usr/share/man/man1/lockstep.1.gz",
            ] { #expect(rights[path] == "-rw-r--r--", "\(path)") }
            for (page, installed) in [(Self.page, "page"), (Self.joinPage, "join")] {
                for path in try files(in: page) {
                    #expect(rights["usr/share/lockstep/\(installed)/\(path)"] == "-rw-r--r--", "\(path)")
                }
            }
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
            ("deb", ["--revision", "x"], "whole number"), ("test-packages", ["--fast"], "unknown argument"),
            ("test-kernel", ["--fast"], "unknown argument"),
        ])
    func wrongUse(script: String, arguments: [String], reason: String) async throws {
        let run = try await run(script, arguments)
        #expect(run.status != 0)
        #expect(run.text.contains(reason), "\(run.text)")
    }
}
