import Foundation
import LockstepTestSupport
import Testing

@Suite(
    "Copy of a store to ClickHouse",
    .enabled(
        if: Programs.isInstalled("mosquitto") && TestClickHouse.isInstalled,
        "mosquitto or clickhouse-server is not installed"))
struct CopySystemTests {
    @Test("a killed copy continues, what is missing is copied again, and the collector continues in the new store")
    func killed() async throws {
        try await withClickHouse { server in
            try await withSystem { system in
                let collector = try system.startCollector(["--sync", "normal"])
                try await system.waitForSubscription()
                let load = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    [
                        "simulate", "--broker", system.broker.url, "--devices", "20", "--sample-rate", "50",
                        "--seconds", "2",
                        "--backlog", "200", "--backlog-rate", "4M",
                    ], within: .seconds(300))
                #expect(load.status == 0, "\(load.text)")
                let agent = try system.startAgent("ant")
                try await expectEventually("\(collector.text)") {
                    try await devices("sqlite:\(system.storePath)").text.contains("ant")
                }
                await agent.stop(SIGTERM)
                try await system.drain("ant")

                let first = try RunningProgram(Programs.built("lockstep"), copyArguments(system, server))
                try await expectEventually("\(first.text)") { try await count(server) > 10_000 }
                await first.stop(SIGKILL)
                let before = try await count(server)
                await collector.stop(SIGTERM)

                let second = try await copy(system, server)
                #expect(second.status == 0, "\(second.text)")
                let report = try JSONDecoder().decode(Report.self, from: Data(second.text.utf8))
                #expect(report.missing == 0 && report.different == 0 && report.devices == 21)
                // The first copy was not complete, and the second one did not start again.
                #expect(report.copied > 0 && report.copied < report.samples)
                let complete = try await count(server)
                #expect(before < complete)
                #expect(complete > 200_000)
                let third = try await copy(system, server)
                #expect(third.text.contains(#""copied":0,"#), "\(third.text)")
                try await server.removeSamples(7)
                #expect(try await count(server) == complete - 7)
                #expect(try await copy(system, server).status == 0)
                #expect(try await count(server) == complete)

                let verification = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["verify", "--store", server.url(), "--journal", "ant=\(system.outbox(of: "ant"))"])
                #expect(verification.status == 0, "\(verification.text)")
                for stream in ["accelerometer", "device_motion", "battery"] {
                    let arguments = ["query", stream, "--device", "ant", "--csv", "--store"]
                    let file = try await RunningProgram.run(
                        Programs.built("lockstep"), arguments + ["sqlite:\(system.storePath)"])
                    let database = try await RunningProgram.run(Programs.built("lockstep"), arguments + [server.url()])
                    #expect(file.text == database.text, "\(stream)")
                }
                #expect(
                    try await devices(server.url()).text == devices("sqlite:\(system.storePath)").text)

                // Nothing is stored a second time, because the batch numbers are known.
                let moved = try system.start(
                    "lockstep-collector",
                    ["--broker", system.broker.url, "--store", server.url(), "--sync", "normal"])
                try await system.drain("ant")
                await moved.stop(SIGTERM)
                let again = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["verify", "--store", server.url(), "--journal", "ant=\(system.outbox(of: "ant"))"])
                #expect(again.status == 0, "\(again.text)")
            }
        }
    }

    @Test("a copy needs an SQLite store and a ClickHouse database")
    func wrongUse() async throws {
        for (arguments, text) in [
            (["--from", "clickhouse://a/b", "--to", "clickhouse://a/b"], "use sqlite:PATH"),
            (["--from", "sqlite:/none.db", "--to", "sqlite:/other.db"], "--to is not a ClickHouse database"),
            (["--from", "sqlite:/none.db", "--to", "clickhouse://localhost:1/x"], "there is no store at /none.db"),
        ] {
            let result = try await RunningProgram.run(Programs.built("lockstep"), ["copy"] + arguments)
            #expect(result.status != 0 && result.text.contains(text), "\(result.text)")
        }
    }

    private struct Report: Decodable {
        let devices: Int
        let samples: Int
        let copied: Int
        let missing: Int
        let different: Int
    }

    private func copyArguments(_ system: TestSystem, _ server: TestClickHouse) -> [String] {
        ["copy", "--from", "sqlite:\(system.storePath)", "--to", server.url(), "--sync", "normal", "--json"]
    }

    private func copy(_ system: TestSystem, _ server: TestClickHouse) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), copyArguments(system, server), within: .seconds(300))
    }

    private func devices(_ store: String) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(Programs.built("lockstep"), ["devices", "--json", "--store", store])
    }

    private func count(_ server: TestClickHouse) async throws -> Int {
        let rows = try? await server.execute("SELECT count() FROM accelerometer")
        return rows?.first.flatMap { Int($0) } ?? 0
    }
}
