import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

private let library = "/usr/lib/\(architecture)-linux-gnu/faketime/libfaketimeMT.so.1"

#if arch(x86_64)
    private let architecture = "x86_64"
#else
    private let architecture = "aarch64"
#endif

@Suite(
    "A clock that is set while an agent runs",
    .enabled(
        if: Programs.isInstalled("mosquitto") && FileManager.default.fileExists(atPath: library),
        "mosquitto or faketime is not installed"))
struct ClockStepTests {
    @Test("an hour forward and two back begins a new epoch each time, and nothing is lost")
    func stepped() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let clock = system.folder + "/clock"
            try set(clock, to: "+0")
            let agent = try startAgent(in: system, clock: clock)
            #expect(await collector.waitForOutput("default/walker: active"))
            let database = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
            for (offset, step) in [("+3600", "3600.0"), ("+0", "-3600.0"), ("-3600", "-3600.0")] {
                let told = steps(agent, by: step)
                let before = try database.integer("SELECT count(*) FROM journal")
                try set(clock, to: offset)
                await expectEventually("\(agent.text)", within: .seconds(120)) { steps(agent, by: step) > told }
                try await expectEventually(within: .seconds(120)) {
                    try database.integer("SELECT count(*) FROM journal") > before + 15
                }
            }
            // Two hours ago by its own clock, the agent is here now.
            let reader = try await system.reader()
            try await expectEventually("\(collector.text)") { try reader.devices().first?.state == .active }
            #expect(try database.integer("SELECT count(DISTINCT epoch) FROM journal") == 4)
            await agent.stop()
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    private func startAgent(in system: TestSystem, clock: String) throws -> RunningProgram {
        // By way of env: in the first process that loads it the library changes the environment, and a Swift program
        // then does not find its arguments.
        try system.startAgent(
            "walker", program: ["/usr/bin/env", Programs.built("lockstep-agent")],
            environment: [
                "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            ])
    }

    /// Sets the clock to so many seconds from the machine's; in one go, since the agent reads the file all the time.
    private func set(_ clock: String, to offset: String) throws {
        try offset.write(toFile: clock, atomically: true, encoding: .utf8)
    }

    private func steps(_ agent: RunningProgram, by step: String) -> Int {
        agent.text.components(separatedBy: "the clock was stepped by \(step) s").count - 1
    }
}
