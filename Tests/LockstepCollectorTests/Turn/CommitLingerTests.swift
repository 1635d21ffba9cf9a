import Testing

@testable import LockstepCollector

@Suite("Commit linger")
struct CommitLingerTests {
    @Test("the linger ends a fixed interval after the last turn started, and is skipped after a longer pause")
    func minInterval() {
        let now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        #expect(linger.begin(after: now, now: now + .milliseconds(2)) == now + CommitLinger.minInterval)
        #expect(linger.begin(after: now, now: now + CommitLinger.minInterval) == nil)
    }

    /// Messages per second, samples of a message, and the delay in ms.
    private static let intervals: [(Double, Double, Double)] = [
        (0, 0, 10), (5, 20, 10), (49, 1, 10), (50, 1, 100),
        // A hundred devices with one or four streams of 100 Hz.
        (100, 100, 100), (400, 100, 25), (400, 1, 100),
        (500, 1, 100), (500, 20, 100), (500, 40, 50), (500, 100, 20), (500, 2000, 10),
        (1000, 0, 100), (1000, 1, 100), (1000, 10, 100), (1000, 20, 50), (1000, 100, 10), (1000, 2000, 10),
        (10_000, 0, 100), (10_000, 1, 100), (10_000, 2, 50), (10_000, 10, 10), (10_000, 100, 10),
        (20_000, 1, 50), (100_000, 1, 10), (1_000_000, 1, 10),
    ]

    @Test("the delay grows with the rate of messages and shrinks with the number of samples", arguments: intervals)
    func interval(rate: Double, samples: Double, milliseconds: Double) {
        let interval = CommitLinger.interval(at: .init(messages: rate, samples: rate * samples))
        #expect(interval == .milliseconds(milliseconds))
    }

    /// The window, messages per second, and the delay in ms.
    private static let limits: [(Int, Double, Double)] = [
        (20, 100, 100), (20, 1000, 10), (20, 10_000, 1), (1000, 10_000, 50), (5000, 10_000, 250), (60_000, 100, 1000),
        (0, 100, 0), (0, 0, 100),
    ]

    @Test("the messages of a delay fill at most half of the window", arguments: limits)
    func limit(window: Int, rate: Double, milliseconds: Double) {
        #expect(CommitLinger.timeToHalf(of: window, at: rate) == .milliseconds(milliseconds))
    }

    /// The delay, its limit by the window, and the delay of a probe, in ms.
    private static let probes: [(Int, Int, Int)] = [
        (10, 0, 40), (10, 9, 40), (100, 3, 40), (100, 15, 60), (100, 40, 160), (100, 99, 200), (30, 20, 60),
    ]

    @Test("a probe lets at most twice the window arrive, unless it is very short", arguments: probes)
    func probe(interval: Int, limit: Int, expected: Int) {
        #expect(
            CommitLinger.probe(for: .milliseconds(interval), limit: .milliseconds(limit)) == .milliseconds(expected))
    }

    @Test("the window limits the delay, and a probe follows")
    func limitedByWindow() {
        let start = ContinuousClock.now
        var linger = CommitLinger(at: start)
        // 10,000 messages per second in a window of 500.
        for turn in 1...8 { linger.record(500, samples: 500, at: start + .milliseconds(50 * turn)) }
        let now = start + .milliseconds(400)
        #expect(linger.begin(after: now, now: now) == now + .milliseconds(100), "a probe")
        #expect(linger.begin(after: now, now: now) == now + .milliseconds(25))
        #expect(linger.begin(after: now, now: now + .milliseconds(25)) == nil)
        linger.record(1000, samples: 1000, at: now + .milliseconds(100))
        let next = now + .milliseconds(100)
        #expect(linger.begin(after: next, now: next) == next + .milliseconds(50))
    }

    @Test("a burst after a pause does not raise the delay")
    func burstAfterPause() {
        let start = ContinuousClock.now
        var linger = CommitLinger(at: start)
        linger.record(40, samples: 40, at: start + .seconds(1))
        linger.record(200, samples: 200, at: start + .milliseconds(1100))
        let now = start + .milliseconds(1102)
        #expect(linger.begin(after: now, now: now) == now + CommitLinger.minInterval)
    }

    @Test("a stream that does not fill the window is committed in few turns", arguments: [200, 1000, 10_000])
    func stream(rate: Double) {
        let stream = BrokerSimulation(window: 60_000) { Int(rate * $0) }
        #expect(stream.run().turns < 110 * BrokerSimulation.seconds)
        #expect(stream.run(lingers: false).turns > stream.run().turns)
    }

    @Test("a backlog in small windows is not slowed down", arguments: [1, 10, 20, 100])
    func backlog(window: Int) {
        let stream = BrokerSimulation(window: window) { _ in .max }
        #expect(Double(stream.run().messages) > 0.95 * Double(stream.run(lingers: false).messages))
    }

    @Test("a stream in small windows is not delayed for long", arguments: [400, 500, 700, 1000, 1500, 3000, 6000])
    func smallWindow(rate: Double) {
        let window = 20
        let stream = BrokerSimulation(window: window) { Int(rate * $0) }
        let shortProbe = rate * ((CommitLinger.minProbe + CommitLinger.minInterval) / .seconds(1))
        #expect(Double(stream.run().maxBehind) < max(shortProbe, Double(2 * window)) + Double(window))
    }

    @Test("a burst is not delayed for long")
    func burst() {
        let stream = BrokerSimulation(window: 20) { 200 * (1 + Int($0)) }
        #expect(stream.run().behind < stream.run(lingers: false).behind + CommitLinger.minProbe * 10)
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
            linger.record(20, samples: 20, at: now)
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
            let count = 3 * Int((now - start) / .milliseconds(1))
            linger.record(count, samples: count, at: now)
        }
        #expect(lingered > (end - begin) * 0.95)
    }

    @Test("retained messages do not count as part of the window")
    func retained() {
        let now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        linger.record(1000, samples: 1000, retained: 1000, at: now)
        linger.record(20, samples: 20, at: now)
        #expect(linger.begin(after: now, now: now) == nil)
    }

    @Test("the linger adapts to a window that has shrunk")
    func shrunken() {
        var now = ContinuousClock.now
        var linger = CommitLinger(at: now)
        linger.record(1000, samples: 1000, at: now)
        let end = now + .seconds(70)
        while now < end {
            now += .milliseconds(2)
            linger.record(20, samples: 20, at: now)
        }
        #expect(linger.begin(after: now, now: now) != now + CommitLinger.minInterval)
    }
}
