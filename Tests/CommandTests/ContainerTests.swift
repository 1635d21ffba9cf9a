import Foundation
import LockstepCommandLine
import LockstepTestSupport
import Testing

/// Checks the container files without a container engine.
@Suite("Container files")
struct ContainerTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("deploy/container")

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    private static func services() throws -> [String: YAMLNode] {
        let file = try #require(try YAMLNode.read(try text("compose.yaml")))
        let services = try #require(file["services"]).dictionary
        #expect(services.keys.sorted() == ["agent", "broker", "collector"])
        return services
    }

    @Test("compose.yaml refers to files that exist and to the image of a release, and gives containers no rights")
    func composition() throws {
        let release = try Self.text("../release")
        for (name, service) in try Self.services() {
            let image = try #require(service["image"]?.scalar).replacing("localhost/", with: "")
            #expect(release.contains("\"oci:$tree:\(image):latest\""), "\(name)")
            #expect(service["read_only"]?.scalar == "true" && service["cap_drop"]?.list == ["ALL"], "\(name)")
            #expect(service["security_opt"]?.list == ["no-new-privileges:true"], "\(name)")
            for volume in service["volumes"]?.list ?? [] where volume.hasPrefix(".") {
                let file = Self.folder.appendingPathComponent(String(volume.prefix { $0 != ":" }))
                #expect(FileManager.default.fileExists(atPath: file.path), "\(volume)")
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
            let settings = adapted(try Self.text("broker.conf"))
                .replacingOccurrences(of: "listener 1883", with: "listener \(port) 127.0.0.1")
            try (settings + "\nuser root\n").write(toFile: folder + "/broker.conf", atomically: true, encoding: .utf8)
            let mosquitto = try #require(Programs.installed("mosquitto"))
            var programs = [try RunningProgram(mosquitto, ["-c", folder + "/broker.conf"])]
            for name in ["collector", "agent"] {
                let service = try #require(services[name])
                let command = try #require(service["command"]).list
                let path = Programs.built(try #require(command.first))
                let environment = try #require(service["environment"]).texts
                // Programs ignore unknown environment variables, so check the names against the options.
                let help = try await RunningProgram.run(path, ["--help"]).text
                for variable in environment.keys {
                    let option = variable.dropFirst("LOCKSTEP_".count).lowercased().replacing("_", with: "-")
                    #expect(help.contains("--\(option) "), "\(variable)")
                }
                let program = try RunningProgram(
                    path, command.dropFirst().map(adapted), environment: environment.mapValues(adapted))
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
