import Testing

@testable import LockstepCollector

@Suite("Commit linger")
struct CommitLingerTests {
    @Test("the linger ends a fixed interval after the last turn started, and is skipped after a longer pause")
    func interval() {
        let now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        #expect(linger.begin(after: now, now: now + .milliseconds(2)) == now + CommitLinger.interval)
        #expect(linger.begin(after: now, now: now + CommitLinger.interval) == nil)
    }

    @Test("a stream that does not fill the window is committed in few turns", arguments: [200, 1000, 10_000])
    func stream(rate: Double) {
        let stream = Stream(window: 60_000) { Int(rate * $0) }
        #expect(stream.run().turns < 110 * Stream.seconds)
        #expect(stream.run(lingers: false).turns > stream.run().turns)
    }

    @Test("a backlog in small windows is not slowed down", arguments: [1, 10, 20, 100])
    func backlog(window: Int) {
        let stream = Stream(window: window) { _ in .max }
        #expect(Double(stream.run().messages) > 0.95 * Double(stream.run(lingers: false).messages))
    }

    @Test("a stream in small windows is not delayed for long", arguments: [500, 1500, 3000, 6000])
    func smallWindow(rate: Double) {
        let stream = Stream(window: 20) { Int(rate * $0) }
        #expect(
            Double(stream.run().maxBehind) < rate * ((CommitLinger.probeDuration + CommitLinger.interval) / .seconds(1))
                + 20)
    }

    @Test("a burst is not delayed for long")
    func burst() {
        let stream = Stream(window: 20) { 200 * (1 + Int($0)) }
        #expect(stream.run().behind < stream.run(lingers: false).behind + CommitLinger.probeDuration * 10)
    }

    @Test(
        "the collector lingers almost all the time in a steady stream, after any earlier traffic",
        arguments: [60, 65, 70, 75, 80, 85])
    func steady(seconds: Int) {
        var now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        // First a backlog in small windows, during which no probe finds a larger window.
        let begin = now + .seconds(seconds)
        while now < begin {
            let end = linger.begin(after: now, now: now)
            now = end ?? now + .milliseconds(2)
            linger.record(20, at: now)
        }
        let end = begin + .seconds(600)
        var lingered = Duration.zero
        while now < end {
            let start = now
            now += .milliseconds(3)
            if let end = linger.begin(after: start, now: now) {
                lingered += end - start
                now = end
            }
            linger.record(3 * Int((now - start) / .milliseconds(1)), at: now)
        }
        #expect(lingered > (end - begin) * 0.95)
    }

    @Test("retained messages do not count as part of the window")
    func retained() {
        let now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        linger.record(1000, retained: 1000, at: now)
        linger.record(20, at: now)
        #expect(linger.begin(after: now, now: now) == nil)
    }

    @Test("the linger adapts to a window that has shrunk")
    func shrunken() {
        var now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        linger.record(1000, at: now)
        let end = now + .seconds(70)
        while now < end {
            now += .milliseconds(2)
            linger.record(20, at: now)
        }
        #expect(linger.begin(after: now, now: now) != now + CommitLinger.interval)
    }
}

/// A simulation of a broker that sends messages, and of a collector that reads, commits and acknowledges them.
private struct Stream {
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
            linger.record(count, at: now)
        }
        return outcome
    }
}
