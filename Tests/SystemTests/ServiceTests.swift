import Foundation
import LockstepTestSupport
import Testing

@Suite("Programs as services", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ServiceTests {
    static let programs = ["lockstep-agent", "lockstep-collector"]

    private func start(
        _ name: String, in system: TestSystem, environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try system.start(name, arguments(of: name, in: system), environment: environment)
    }

    private func arguments(of name: String, in system: TestSystem) -> [String] {
        ["--broker", system.broker.url]
            + (name == "lockstep-agent"
                ? ["--device", "walker", "--source", "simulate:1", "--outbox", system.outbox(of: "walker")]
                : ["--store", "sqlite:\(system.storePath)"])
    }

    @Test("a program notifies its supervisor when it is ready, connected, alive and stopping", arguments: programs)
    func supervised(name: String) async throws {
        try await withSystem { system in
            let receiver = try NotifyReceiver(address: system.folder + "/notify")
            let program = try start(
                name, in: system,
                environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "200000"])
            await expectEventually(program.text, within: .seconds(120)) {
                let lines = receiver.lines
                return lines.first == "READY=1" && lines.contains { $0.hasPrefix("STATUS=connected to mqtt://") }
                    && lines.count { $0 == "WATCHDOG=1" } >= 3
            }
            program.signal(SIGTERM)
            #expect(await program.waitForExit(within: .seconds(120)) == 0)
            #expect(receiver.lines.contains("STOPPING=1"))
        }
    }

    @Test("a program stops within five seconds of SIGTERM even if its broker hangs", arguments: programs)
    func endsInTime(name: String) async throws {
        try await withSystem { system in
            let program = try start(name, in: system)
            #expect(await program.waitForOutput("connected to", within: .seconds(120)))
            system.broker.signal(SIGSTOP)
            defer { system.broker.signal(SIGCONT) }
            let begin = ContinuousClock.now
            program.signal(SIGTERM)
            #expect(await program.waitForExit(within: .seconds(120)) == 0)
            // One second more than guaranteed, for a busy machine.
            #expect(ContinuousClock.now - begin < .seconds(6), "\(program.text)")
        }
    }

    // Agent only: the collector stops too quickly for a second signal. Both handle signals with the same TerminationSignals.
    @Test("two signals at once stop a program cleanly, and one that is sent a second later stops it at once")
    func secondSignal() async throws {
        try await withSystem { system in
            let receiver = try NotifyReceiver(address: system.folder + "/notify")
            let program = try start(
                "lockstep-agent", in: system, environment: ["NOTIFY_SOCKET": receiver.address])
            #expect(await program.waitForOutput("connected to", within: .seconds(120)))
            // With a hanging broker, a clean stop takes some seconds.
            system.broker.signal(SIGSTOP)
            defer { system.broker.signal(SIGCONT) }
            let begin = ContinuousClock.now
            for _ in 0..<2 { program.signal(SIGTERM) }
            await expectEventually(program.text, within: .seconds(120)) { receiver.lines.contains("STOPPING=1") }
            await expectEventually(program.text, within: .seconds(120)) {
                program.signal(SIGTERM)
                return !program.isRunning
            }
            #expect(await program.waitForExit(within: .seconds(120)) == SIGTERM)
            #expect(ContinuousClock.now - begin >= .seconds(1))
            #expect(!program.text.contains("agent stopped"), "\(program.text)")
        }
    }

    @Test("a program writes journal priorities if its output is connected to the journal", arguments: programs)
    func journal(name: String) async throws {
        try await withSystem { system in
            let program = try RunningProgram(
                "/bin/sh",
                [
                    "-c", #"JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" "$@""#,
                    Programs.built(name),
                ] + arguments(of: name, in: system))
            #expect(await program.waitForOutput("<6>connected to ", within: .seconds(120)), "\(program.text)")
            await program.stop()
            let strangers = program.text.split(separator: "\n").filter { !$0.hasPrefix("<") }
            #expect(strangers.isEmpty)
        }
    }
}
