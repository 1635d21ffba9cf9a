import Foundation
import LockstepCommandLine
import LockstepTestSupport
import Testing

/// Checks the container files without a container engine.
@Suite("Container files")
struct ContainerTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let folder = root.appendingPathComponent("deploy/container")

    private static func lines(_ name: String) throws -> [String] {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            .replacingOccurrences(of: "\\\n", with: " ").components(separatedBy: "\n")
    }

    /// The instructions of the Containerfile, split into words.
    private static func instructions() throws -> [[String]] {
        try lines("Containerfile").map { $0.split(separator: " ").map(String.init) }
            .filter { !$0.isEmpty && !$0[0].hasPrefix("#") }
    }

    private static func services() throws -> [String: YAMLNode] {
        let text = try String(contentsOf: folder.appendingPathComponent("compose.yaml"), encoding: .utf8)
        let file = try #require(try YAMLNode.read(text))
        let services = try #require(file["services"]).dictionary
        #expect(services.keys.sorted() == ["agent", "broker", "collector"])
        return services
    }

    /// The environment variables that a stage of the Containerfile sets.
    private static func variables(of stage: String) throws -> [String: String] {
        var current = ""
        var variables: [String: String] = [:]
        for words in try instructions() {
            if words[0] == "FROM" { current = words.last ?? "" }
            guard words[0] == "ENV", current == stage else { continue }
            for pair in words.dropFirst() {
                let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
                variables[parts[0]] = parts.last
            }
        }
        return variables
    }

    private func exists(_ path: String, in folder: URL = ContainerTests.root) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path)
    }

    @Test("the Containerfile copies only files that exist and are not ignored, and refers only to earlier stages")
    func sources() throws {
        let ignoreRules = try Self.lines("Containerfile.dockerignore")
        #expect(ignoreRules.contains("*"))
        var stages: [String] = []
        for words in try Self.instructions() {
            if words[0] == "FROM" {
                #expect(words[1].contains("/") || stages.contains(words[1]), "\(words)")
                stages.append(try #require(words.last))
            }
            guard words[0] == "COPY" else { continue }
            if words[1].hasPrefix("--from=") {
                #expect(stages.contains(String(words[1].dropFirst(7))), "\(words)")
                continue
            }
            for source in words.dropFirst().dropLast() {
                #expect(exists(source), "\(words)")
                #expect(ignoreRules.contains("!\(source)"), "\(words)")
            }
        }
        #expect(stages == ["build", "base", "agent", "collector"])
    }

    @Test("compose.yaml refers only to files and stages that exist")
    func composition() throws {
        let stages = try Self.instructions().filter { $0[0] == "FROM" }.compactMap(\.last)
        for (name, service) in try Self.services() {
            if let build = service["build"]?.texts {
                let context = Self.folder.appendingPathComponent(build["context"] ?? "").standardized
                #expect(context.path == Self.root.standardized.path, "\(name)")
                #expect(exists(build["dockerfile"] ?? "nothing", in: context), "\(name)")
                #expect(stages.contains(build["target"] ?? ""), "\(name)")
            } else {
                #expect(service["image"]?.scalar != nil, "\(name)")
            }
            for volume in service["volumes"]?.list ?? [] where volume.hasPrefix(".") {
                #expect(exists(String(volume.prefix { $0 != ":" }), in: Self.folder), "\(volume)")
            }
        }
    }

    @Test(
        "the programs and the broker accept all options of the container files",
        .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
    func running() async throws {
        let services = try Self.services()
        try await withTemporaryFolder { folder in
            let port = try freePort()
            let adapted = { (text: String) in
                text.replacingOccurrences(of: "/data/", with: folder + "/")
                    .replacingOccurrences(of: "broker:1883", with: "127.0.0.1:\(port)")
            }
            let settings = try Self.lines("broker.conf").joined(separator: "\n")
                .replacingOccurrences(of: "listener 1883", with: "listener \(port) 127.0.0.1")
                .replacingOccurrences(of: "/mosquitto/data/", with: folder + "/")
            try (settings + "\nuser root\n").write(toFile: folder + "/broker.conf", atomically: true, encoding: .utf8)
            let mosquitto = try #require(Programs.installed("mosquitto"))
            var programs = [try RunningProgram(mosquitto, ["-c", folder + "/broker.conf"])]
            for name in ["collector", "agent"] {
                let path = Programs.built("lockstep-\(name)")
                let service = try #require(services[name])
                let overrides = try #require(service["environment"]).texts
                let environment = try Self.variables(of: name).merging(overrides) { $1 }
                // Programs ignore unknown environment variables, so check the names against the options.
                let help = try await RunningProgram.run(path, ["--help"]).text
                for variable in environment.keys {
                    let option = variable.dropFirst("LOCKSTEP_".count).lowercased().replacing("_", with: "-")
                    #expect(help.contains("--\(option) "), "\(variable)")
                }
                let program = try RunningProgram(
                    path, (service["command"]?.list ?? []).map(adapted), environment: environment.mapValues(adapted)
                )
                programs.append(program)
                let isConnected = await program.waitForOutput("connected to", within: .seconds(120))
                #expect(isConnected, "\(program.text)")
            }
            for program in programs.reversed() { await program.stop() }
        }
    }
}

extension YAMLNode {
    fileprivate subscript(key: String) -> YAMLNode? { dictionary[key] }

    fileprivate var dictionary: [String: YAMLNode] {
        guard case .mapping(let pairs) = content else { return [:] }
        return Dictionary(pairs.map { ($0.key.scalar ?? "", $0.value) }) { first, _ in first }
    }

    /// The values of a mapping of scalars.
    fileprivate var texts: [String: String] {
        #expect(!dictionary.isEmpty && dictionary.values.allSatisfy { $0.scalar != nil }, "line \(line)")
        return dictionary.compactMapValues(\.scalar)
    }

    /// The items of a sequence of scalars.
    fileprivate var list: [String] {
        guard case .sequence(let items) = content, items.allSatisfy({ $0.scalar != nil }) else {
            Issue.record("line \(line) is not a list of strings")
            return []
        }
        return items.compactMap(\.scalar)
    }
}
