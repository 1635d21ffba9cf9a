import Foundation
import LockstepTestSupport
import Testing

@Suite(
    "Collector with a ClickHouse store", .serialized,
    .enabled(
        if: Programs.isInstalled("mosquitto") && TestClickHouse.isInstalled,
        "mosquitto or clickhouse-server is not installed"))
struct ClickHouseSystemTests {
    @Test("each accepted sample is stored once, though collector and server are killed; verify finds a missing one")
    func kills() async throws {
        try await withClickHouse { server in
            try await withSystem { system in
                var collector = try start(server, in: system)
                let devices = ["ant", "bee"]
                let agents = try devices.enumerated().map { index, device in
                    try system.startAgent(device, source: "simulate:\(index + 1)", ["--backlog-rate", "4M"])
                }
                for round in 0..<4 {
                    let before = try await storedSamples(server)
                    try await expectEventually("round \(round): \(collector.text)") {
                        try await storedSamples(server) > before + 500
                    }
                    if round.isMultiple(of: 2) {
                        await collector.stop(SIGKILL)
                        collector = try start(server, in: system)
                    } else {
                        await server.stop(SIGKILL)
                        try await server.start()
                    }
                }
                for agent in agents { await agent.stop(SIGTERM) }
                for device in devices { try await system.drain(device) }
                await collector.stop(SIGTERM)

                let journals = devices.flatMap { ["--journal", "\($0)=\(system.outbox(of: $0))"] }
                let verification = try await lockstep(["verify"] + journals, server)
                #expect(verification.status == 0, "\(verification.text)")
                #expect(verification.text.contains("complete: "))
                let list = try await lockstep(["devices", "--json"], server)
                #expect(list.text.contains(#""device":"ant""#), "\(list.text)")
                let rows = try await lockstep(["query", "accelerometer", "--device", "ant", "--csv"], server)
                let count = try await server.execute(
                    "SELECT count() FROM v_accelerometer WHERE device = 'ant'")
                #expect(rows.text.split(separator: "\n").count - 1 == Int(count.first ?? ""))

                try await server.removeSamples(1)
                let incomplete = try await lockstep(["verify"] + journals, server)
                #expect(incomplete.status == 1, "\(incomplete.text)")
                #expect(incomplete.text.contains("1 accepted sample missing"), "\(incomplete.text)")
            }
        }
    }

    @Test(
        "a server that does not run and a database without a store are reported, and a collector waits for its server")
    func unreachable() async throws {
        try await withClickHouse { server in
            let deliveries = try await lockstep(["deliveries"], server)
            #expect(
                deliveries.status != 0 && deliveries.text.contains("there is no store at"), "\(deliveries.text)")
            let missing = try await lockstep(["devices"], server)
            #expect(missing.status != 0 && missing.text.contains("there is no store at"), "\(missing.text)")
            await server.stop(SIGTERM)
            let stopped = try await lockstep(["devices"], server)
            #expect(stopped.status != 0 && stopped.text.contains("does not answer"), "\(stopped.text)")
            try await withSystem { system in
                let collector = try start(server, in: system)
                #expect(
                    await collector.waitForOutput("cannot open the store, retrying"), "\(collector.text)")
                await collector.stop(SIGTERM)
                #expect(!collector.text.contains("collector started"), "\(collector.text)")
                let patient = try start(server, in: system)
                #expect(await patient.waitForOutput("cannot open the store, retrying"), "\(patient.text)")
                try await server.start()
                #expect(await patient.waitForOutput("collector started"), "\(patient.text)")
            }
        }
    }

    @Test("doctor checks the server")
    func doctor() async throws {
        try await withClickHouse { server in
            try await withSystem { system in
                let collector = try start(server, in: system)
                try await system.waitForSubscription()
                let agent = try system.startAgent("ant")
                try await expectEventually("\(collector.text)") { try await storedSamples(server) > 100 }
                let arguments = ["doctor", "--broker", system.broker.url, "--seconds", "1", "--json"]
                let healthy = try await lockstep(arguments, server)
                #expect(healthy.text.contains("answers: ClickHouse"), "\(healthy.text)")
                #expect(healthy.text.contains("1 device"), "\(healthy.text)")
                await agent.stop(SIGTERM)
                await server.stop(SIGKILL)
                let stopped = try await lockstep(arguments, server)
                #expect(stopped.status == 1 && stopped.text.contains("does not answer"), "\(stopped.text)")
                await collector.stop(SIGKILL)
            }
        }
    }

    private func start(_ server: TestClickHouse, in system: TestSystem) throws -> RunningProgram {
        try system.start(
            "lockstep-collector",
            ["--broker", system.broker.url, "--store", server.url(), "--sync", "normal"])
    }

    private func lockstep(_ arguments: [String], _ server: TestClickHouse) async throws -> (status: Int32, text: String)
    {
        try await RunningProgram.run(Programs.built("lockstep"), arguments + ["--store", server.url()])
    }

    /// Returns the number of samples, or 0 while there is no store.
    private func storedSamples(_ server: TestClickHouse) async throws -> Int {
        let rows = try? await server.execute("SELECT count() FROM accelerometer")
        return rows?.first.flatMap { Int($0) } ?? 0
    }
}

extension TestClickHouse {
    /// Removes the first samples of a stream, as a fault of the server would.
    func removeSamples(_ count: Int) async throws {
        try await execute("CREATE TABLE rest AS received_accelerometer")
        // A sample can have several rows that have not been merged yet.
        try await execute(
            """
            INSERT INTO rest SELECT * FROM received_accelerometer
            WHERE (device_id, t) NOT IN (SELECT device_id, t FROM accelerometer ORDER BY t, device_id LIMIT \(count))
            """)
        try await execute("DROP TABLE received_accelerometer")
        try await execute("RENAME TABLE rest TO received_accelerometer")
    }
}
