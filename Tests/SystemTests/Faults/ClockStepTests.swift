import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "Clock changes of a running agent",
    .enabled("mosquitto or clang is not installed") {
        guard Programs.isInstalled("mosquitto") else { return false }
        return await AdjustableClock.isAvailable
    })
struct ClockStepTests {
    @Test("each clock step starts a new epoch, and no sample is lost")
    func stepped() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let clock = try await AdjustableClock(in: system.folder)
            let agent = try system.startAgent("walker", environment: clock.environment)
            #expect(await collector.waitForState("active", of: "default/walker"))
            let database = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
            // Wait for a batch, because an epoch without batches is not visible in the journal.
            try await expectEventually("\(agent.text)") { try database.integer("SELECT count(*) FROM journal") > 0 }
            for (index, hours) in [1, 0, -1].enumerated() {
                try clock.set(wall: Int64(hours) * 3600)
                await expectEventually("\(agent.text)", within: .seconds(120)) { steps(of: agent) > index }
                // The samples from before the step are written with the old epoch.
                try await expectEventually("\(agent.text)\(collector.text)", within: .seconds(120)) {
                    try database.integer("SELECT count(DISTINCT epoch) FROM journal") == index + 2
                }
            }
            // The agent's clock is an hour behind, but its samples are still live.
            let reader = try await system.reader()
            try await expectEventually("\(collector.text)") { try reader.devices().first?.state == .active }
            #expect(try database.integer("SELECT count(DISTINCT epoch) FROM journal") == 4)
            try await expectAllStored(agent, system)
        }
    }

    @Test("an agent detects that the machine slept, its time line continues, and no sample is lost")
    func suspended() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let clock = try await AdjustableClock(in: system.folder)
            let agent = try system.startAgent("walker", environment: clock.environment)
            #expect(await collector.waitForState("active", of: "default/walker"))
            let database = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
            try clock.set(wall: 3600, boot: 3600)
            #expect(await collector.waitForState("background", reason: "suspend"), "\(agent.text)\(collector.text)")
            #expect(await collector.waitForState("resumed", reason: "wake"), "\(agent.text)\(collector.text)")
            let before = try database.integer("SELECT count(*) FROM journal")
            try await expectEventually("\(agent.text)", within: .seconds(120)) {
                try database.integer("SELECT count(*) FROM journal") > before + 15
            }
            #expect(try database.integer("SELECT count(DISTINCT epoch) FROM journal") == 1)
            try await expectAllStored(agent, system)
        }
    }

    @Test(
        "a device whose clock is before the broker's certificate connects when it is set, and no earlier sample is lost"
    )
    func certificateNotYetValid() async throws {
        try await withSecureBroker { broker in
            let collector = try broker.startCollector()
            let clock = try await AdjustableClock(in: broker.folder)
            // Earlier than the age limit of the outbox.
            try clock.set(wall: -30 * 86_400)
            let agent = try broker.startAgent("walker", as: "lab/walker", environment: clock.environment)
            #expect(await agent.waitForOutput("not valid yet", within: .seconds(120)), "\(agent.text)")
            let outbox = try SQLiteDatabase(path: "\(broker.folder)/walker.outbox", mode: .readOnly)
            try await expectEventually("\(agent.text)") { try outbox.integer("SELECT count(*) FROM batches") > 20 }
            try clock.set(wall: 0)
            #expect(
                await collector.waitForState("active", of: "lab/walker", within: .seconds(120)),
                "\(agent.text)\(collector.text)")
            try await expectEventually("\(agent.text)", within: .seconds(120)) {
                try outbox.integer("SELECT count(DISTINCT epoch) FROM journal") == 2
            }
            try await expectEventually("\(agent.text)\(collector.text)") {
                try outbox.integer("SELECT count(*) FROM batches WHERE epoch = (SELECT epoch FROM journal LIMIT 1)")
                    == 0
            }
            await agent.stop()
            #expect(!agent.text.contains("dropped"), "\(agent.text)")
        }
    }

    private func expectAllStored(_ agent: RunningProgram, _ system: TestSystem) async throws {
        await agent.stop()
        try await system.drain("walker")
        let verification = try await system.verify(["walker"])
        #expect(verification.status == 0, "\(verification.text)")
    }

    private func steps(of agent: RunningProgram) -> Int {
        agent.text.components(separatedBy: "clock stepped, starting new epoch").count - 1
    }
}
