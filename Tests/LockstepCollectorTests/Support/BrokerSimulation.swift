@testable import LockstepCollector

/// A simulation of a broker that sends messages, and of a collector that reads, commits and acknowledges them.
struct BrokerSimulation {
    static let seconds = 20

    /// The number of messages that the broker sends before it waits for an acknowledgement.
    let window: Int
    /// The number of messages that have arrived at the broker, by time in seconds.
    let sent: (Double) -> Int
    /// The time between two messages that the broker sends after an acknowledgement.
    private let step = Duration.microseconds(100)

    struct Outcome {
        var messages = 0
        var turns = 0
        /// The total waiting time of messages that a turn had left unread.
        var behind = Duration.zero
        /// The maximum number of waiting messages.
        var maxBehind = 0
    }

    func run(lingers: Bool = true) -> Outcome {
        let start = ContinuousClock.now
        var linger = CommitLinger(at: start)
        var (now, began, acknowledged) = (start, start, start)
        var outcome = Outcome()
        var isBehind = false
        var waiting: Int { sent((now - start) / .seconds(1)) - outcome.messages }
        // Messages within the window are readable at once. Those beyond it arrive step by step after the
        // acknowledgement.
        var free = window
        var readable: Int { min(waiting, window, free + Int((now - acknowledged) / step)) }
        while now < start + .seconds(Self.seconds) {
            guard readable > 0 else {
                now += step
                continue
            }
            if lingers, let end = linger.begin(after: began, now: now) { now = end }
            let count = readable
            if isBehind { outcome.behind += now - began }
            isBehind = waiting > count
            outcome.maxBehind = max(outcome.maxBehind, waiting)
            began = now
            outcome.messages += count
            outcome.turns += 1
            now += .microseconds(600 + 20 * count)
            free = window - count
            acknowledged = now
            linger.record(count, samples: count, at: now)
        }
        return outcome
    }
}
