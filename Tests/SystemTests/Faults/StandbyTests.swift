import Foundation
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("A standby collector", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct StandbyTests {
    /// Waits until the number of samples in the store has grown.
    private func expectGrowth(_ system: TestSystem, _ program: RunningProgram) async throws {
        let reader = try await system.reader()
        func samples() throws -> Int64 { try reader.devices().reduce(0) { $0 + $1.samples } }
        let before = try samples()
        try await expectEventually(program.text, within: .seconds(60)) { try samples() > before + 100 }
    }

    @Test("takes over from a killed collector and from a stopped one, and no sample is lost or stored twice")
    func takeover() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            let second = try system.startCollector(["--standby"])
            #expect(await second.waitForOutput("standby started"))
            try await expectGrowth(system, first)
            #expect(!second.text.contains("taking over"))

            await first.stop(SIGKILL)
            #expect(await second.waitForOutput("taking over"), "\(second.text)")
            try await expectGrowth(system, second)

            // The machine of the first collector is back.
            let third = try system.startCollector(["--standby"])
            #expect(await third.waitForOutput("standby started"))
            try await expectGrowth(system, second)
            #expect(!third.text.contains("taking over"))
            await second.stop()
            #expect(await third.waitForOutput("taking over"), "\(third.text)")
            #expect(!second.text.contains("another collector"))
            try await expectGrowth(system, third)

            await agent.stop()
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    @Test("leaves the store to a collector that hangs, and waits again when that one continues")
    func hanging() async throws {
        try await withSystem { system in
            let first = try system.startCollector(["--keep-alive", "5"])
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            let second = try system.startCollector(["--standby"])
            try await expectGrowth(system, first)
            first.signal(SIGSTOP)
            #expect(await second.waitForOutput("cannot take over", within: .seconds(60)), "\(second.text)")
            #expect(second.text.contains("still holds the store"), "\(second.text)")
            first.signal(SIGCONT)
            try await expectGrowth(system, first)
            #expect(!second.text.contains("taking over"))
            await agent.stop()
            try await system.drain("walker")
            #expect(try await system.verify(["walker"]).status == 0)
        }
    }

    @Test("a ClickHouse store has no standby")
    func clickHouse() async throws {
        let result = try await RunningProgram.run(
            Programs.built("lockstep-collector"),
            ["--broker", "mqtt://localhost", "--store", "clickhouse://localhost/lockstep", "--standby"])
        #expect(result.status != 0)
        #expect(result.text.contains("--standby is for an SQLite store"), "\(result.text)")
    }

    @Test("warns at the start and creates no store if there is none, with a predecessor and without one")
    func missingStore() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let path = system.folder + "/elsewhere.db"
            let second = try system.startCollector(["--standby", "--store", "sqlite:\(path)"])
            #expect(await second.waitForOutput("could not take over now"), "\(second.text)")
            let alone = try system.startCollector(["--standby", "--id", "alone", "--store", "sqlite:\(path)"])
            await first.stop()
            for standby in [second, alone] {
                #expect(await standby.waitForOutput("cannot take over", within: .seconds(60)), "\(standby.text)")
                #expect(standby.text.contains("does not exist here"), "\(standby.text)")
            }
            await alone.stop()
            #expect(!FileManager.default.fileExists(atPath: path))
            try FileManager.default.copyItem(atPath: system.storePath, toPath: path)
            #expect(await second.waitForOutput("taking over"), "\(second.text)")
        }
    }
}
