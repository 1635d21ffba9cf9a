import Glibc
import LockstepCommandLine
import Testing

@Suite("TerminationSignals")
struct TerminationSignalsTests {
    @Test("signals are handled before the service runs")
    func trapped() async {
        let numbers = [SIGTERM, SIGINT, SIGHUP]
        let before = numbers.map(action)
        // Restore the actions, so that the test run can be interrupted. Dispatch installs its handler only once per
        // process, so no other test in this process can handle these signals.
        defer {
            for (number, var action) in zip(numbers, before) { sigaction(number, &action, nil) }
        }
        let signals = await TerminationSignals()
        withExtendedLifetime(signals) {
            // Neither the default action (0) nor ignored (1).
            #expect(numbers.allSatisfy { handler(of: action(at: $0)) > 1 })
        }
    }

    /// Returns the action of the process for a signal.
    private func action(at number: Int32) -> sigaction {
        var action = sigaction()
        sigaction(number, nil, &action)
        return action
    }

    private func handler(of action: sigaction) -> Int {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }
}
