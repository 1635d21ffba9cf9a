import Glibc
import LockstepCommandLine
import Testing

@Suite("End signals")
struct EndSignalsTests {
    @Test("are trapped before the service runs, so that none ends the process uncleanly")
    func trapped() async {
        let numbers = [SIGTERM, SIGINT]
        let before = numbers.map(action)
        // Whoever ends the tests is heard again afterwards. Dispatch traps a signal only once a process: no other test
        // here can trap these again.
        defer {
            for (number, var action) in zip(numbers, before) { sigaction(number, &action, nil) }
        }
        let signals = await EndSignals()
        withExtendedLifetime(signals) {
            // Neither the default (0), nor ignored (1).
            #expect(numbers.allSatisfy { handler(of: action(at: $0)) > 1 })
        }
    }

    /// What the process does at a signal.
    private func action(at number: Int32) -> sigaction {
        var action = sigaction()
        sigaction(number, nil, &action)
        return action
    }

    private func handler(of action: sigaction) -> Int {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }
}
