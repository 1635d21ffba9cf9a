import Foundation
import LockstepMQTT
import LockstepTestSupport
import Logging
import Testing

@testable import LockstepServe

@Suite("The OpenAPI document")
struct APIDocumentTests {
    private static let path = Programs.source("Sources/LockstepServe/Page/openapi.json")

    private func document() throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: Self.path))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test("it has exactly the routes and parameters of the code")
    func routes() throws {
        let parts = ServerParts(
            ServeConfiguration(broker: .init(host: "localhost", port: 1)), logger: Logger(label: "test"))
        let document = try document()
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        let components = try #require(document["components"] as? [String: Any])
        let shared = try #require(components["parameters"] as? [String: [String: Any]])
        var documented: [String: Set<String>] = [:]
        for (path, operations) in paths {
            for (method, operation) in operations {
                let parameters = try (operation["parameters"] as? [[String: Any]] ?? []).map { parameter in
                    guard let reference = parameter["$ref"] as? String else { return parameter }
                    return try #require(shared[reference.replacing("#/components/parameters/", with: "")])
                }
                documented["\(method.uppercased()) \(path)"] = Set(
                    parameters.filter { $0["in"] as? String == "query" }.compactMap { $0["name"] as? String })
            }
        }
        var coded: [String: Set<String>] = [:]
        for entry in parts.routes().entries {
            // In the document, a name that matches the rest of the path has no mark.
            coded["\(entry.route.method) \(entry.route.template.filter { $0 != "…" })"] = Set(entry.route.parameters)
        }
        #expect(documented == coded)
    }

    @Test("each reference leads to a part of it")
    func references() throws {
        let document = try document()
        func check(_ value: Any) {
            if let reference = (value as? [String: Any])?["$ref"] as? String {
                let part = reference.split(separator: "/").dropFirst().reduce(document as Any?) {
                    ($0 as? [String: Any])?[String($1)]
                }
                #expect(part != nil, "\(reference)")
            }
            for part in (value as? [String: Any])?.values.map({ $0 }) ?? value as? [Any] ?? [] { check(part) }
        }
        check(document)
    }

    @Test(
        "the running server keeps to it",
        .enabled(
            if: ProcessInfo.processInfo.environment["LOCKSTEP_SCHEMATHESIS"] != nil, "schemathesis is not installed"),
        arguments: ["schemathesis.toml", "schemathesis-known.toml"])
    func schemathesis(_ configuration: String) async throws {
        let program = try #require(ProcessInfo.processInfo.environment["LOCKSTEP_SCHEMATHESIS"])
        try await withSystem { system in
            _ = try system.startCollector()
            _ = try system.startAgent("arm", ["--group", "lab"])
            let server = try await TestServer(system)
            try await expectEventually("stored samples") {
                try await server.get("/api/v1/devices/lab/arm/streams/motion/accelerometer").body.contains("[[")
            }
            let run = try await RunningProgram.run(
                program,
                [
                    "--config-file", Programs.source("Tests/LockstepServeTests/System/\(configuration)"), "run",
                    "\(server.url)/openapi.json", "--url", server.url, "--max-examples", "12", "--seed", "1",
                    "--request-timeout", "20", "--no-color",
                ], environment: ["HOME": system.folder], within: .seconds(240))
            #expect(run.status == 0, "\(run.text)")
            #expect(run.text.contains("generated"), "\(run.text)")
            #expect(server.program.isRunning && !server.program.text.contains("request failed"))
        }
    }
}
