import Testing

@testable import LockstepCollector

@Suite("Messages gather")
struct GatheringTests {
    @Test("from the start of a turn to the next one's, and not at all where the last turn is long past")
    func interval() {
        let now = ContinuousClock.now
        var gathering = Gathering(at: now)
        #expect(gathering.begin(after: now, now: now + .milliseconds(2)) == now + Gathering.interval)
        #expect(gathering.begin(after: now, now: now + Gathering.interval) == nil)
    }

    @Test("into few turns, where the broker does not wait for acknowledgements", arguments: [200, 1000, 10_000])
    func stream(rate: Double) {
        let stream = Stream(window: 60_000) { Int(rate * $0) }
        #expect(stream.run().turns < 110 * Stream.seconds)
        #expect(stream.run(gathers: false).turns > stream.run().turns)
    }

    @Test("no more than the broker sends before an acknowledgement", arguments: [1, 10, 20, 100])
    func backlog(window: Int) {
        let stream = Stream(window: window) { _ in .max }
        #expect(Double(stream.run().messages) > 0.95 * Double(stream.run(gathers: false).messages))
    }

    @Test("not so long that a stream would be held up", arguments: [500, 1500, 3000, 6000])
    func smallWindow(rate: Double) {
        let stream = Stream(window: 20) { Int(rate * $0) }
        #expect(Double(stream.run().mostBehind) < rate * ((Gathering.trial + Gathering.interval) / .seconds(1)) + 20)
    }

    @Test("not so long that a burst would be held up")
    func burst() {
        let stream = Stream(window: 20) { 200 * (1 + Int($0)) }
        #expect(stream.run().behind < stream.run(gathers: false).behind + Gathering.trial * 10)
    }

    @Test("for as long as a stream goes on, whatever was before", arguments: [60, 65, 70, 75, 80, 85])
    func steady(seconds: Int) {
        var now = ContinuousClock.now
        var gathering = Gathering(at: now)
        // A backlog in small windows, in which no trial shows anything.
        let begin = now + .seconds(seconds)
        while now < begin {
            let end = gathering.begin(after: now, now: now)
            now = end ?? now + .milliseconds(2)
            gathering.note(20, at: now)
        }
        let end = begin + .seconds(600)
        var gathered = Duration.zero
        while now < end {
            let start = now
            now += .milliseconds(3)
            if let end = gathering.begin(after: start, now: now) {
                gathered += end - start
                now = end
            }
            gathering.note(3 * Int((now - start) / .milliseconds(1)), at: now)
        }
        #expect(gathered > (end - begin) * 0.95)
    }

    @Test("not for retained messages, which say nothing of the window and may be held up by it")
    func retained() {
        let now = ContinuousClock.now
        var gathering = Gathering(at: now)
        gathering.note(1000, retained: 1000, at: now)
        gathering.note(20, at: now)
        #expect(gathering.begin(after: now, now: now) == nil)
    }

    @Test("no longer where the broker's window has become smaller")
    func shrunken() {
        var now = ContinuousClock.now
        var gathering = Gathering(at: now)
        gathering.note(1000, at: now)
        let end = now + .seconds(70)
        while now < end {
            now += .milliseconds(2)
            gathering.note(20, at: now)
        }
        #expect(gathering.begin(after: now, now: now) != now + Gathering.interval)
    }
}

/// A broker that sends messages, and a collector that reads, commits and acknowledges them, in a time of their own.
private struct Stream {
    static let seconds = 20

    /// Messages that the broker sends before an acknowledgement.
    let window: Int
    /// How many have come to the broker after a time in seconds.
    let sent: (Double) -> Int
    /// From one message that was waiting for an acknowledgement to the next.
    private let step = Duration.microseconds(100)

    struct Outcome {
        var messages = 0
        var turns = 0
        /// How long some waited that a turn had left, all in all.
        var behind = Duration.zero
        /// How many waited at the most.
        var mostBehind = 0
    }

    func run(gathers: Bool = true) -> Outcome {
        let start = ContinuousClock.now
        var gathering = Gathering(at: start)
        var (now, began, acknowledged) = (start, start, start)
        var outcome = Outcome()
        var isBehind = false
        var waiting: Int { sent((now - start) / .seconds(1)) - outcome.messages }
        // What came meanwhile is there at once, what the window held back is not.
        var free = window
        var readable: Int { min(waiting, window, free + Int((now - acknowledged) / step)) }
        while now < start + .seconds(Self.seconds) {
            guard readable > 0 else {
                now += step
                continue
            }
            if gathers, let end = gathering.begin(after: began, now: now) { now = end }
            let count = readable
            if isBehind { outcome.behind += now - began }
            isBehind = waiting > count
            outcome.mostBehind = max(outcome.mostBehind, waiting)
            began = now
            outcome.messages += count
            outcome.turns += 1
            now += .microseconds(600 + 20 * count)
            free = window - count
            acknowledged = now
            gathering.note(count, at: now)
        }
        return outcome
    }
}
