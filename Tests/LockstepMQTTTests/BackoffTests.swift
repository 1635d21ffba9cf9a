import LockstepMQTT
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Backoff")
struct BackoffTests {
    @Test("doubles up to its longest, each wait from the upper half of its span")
    func bounds() {
        var (random, seed) = seeded("backoff")
        for _ in 0..<50 {
            var backoff = Backoff(first: .milliseconds(500), longest: .seconds(30))
            for span in [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000] {
                let wait = backoff.next(using: &random)
                #expect(wait >= .milliseconds(span / 2) && wait <= .milliseconds(span), "seed \(seed)")
            }
        }
    }

    @Test("spreads a fleet: no two waits are alike")
    func jitter() {
        var random = SeededGenerator(seed: 1)
        let waits = (0..<100).map { _ in
            var backoff = Backoff()
            return backoff.next(using: &random)
        }
        #expect(Set(waits).count > 90)
        #expect((waits.max() ?? .zero) - (waits.min() ?? .zero) > .milliseconds(200))
    }

    @Test("stays at its longest, however many failures there are")
    func longest() {
        var random = SeededGenerator(seed: 2)
        var backoff = Backoff(first: .seconds(1), longest: .seconds(7))
        var last = Duration.zero
        for _ in 0..<10_000 { last = backoff.next(using: &random) }
        #expect(last >= .seconds(3.5) && last <= .seconds(7))
    }

    @Test("starts over after a success")
    func reset() {
        var random = SeededGenerator(seed: 3)
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(60))
        for _ in 0..<8 { _ = backoff.next(using: &random) }
        backoff.reset()
        #expect(backoff.next(using: &random) <= .milliseconds(100))
        #expect(backoff.next(using: &random) > .milliseconds(99))
    }

    @Test("is never longer than its longest, even at first")
    func shortLongest() {
        var random = SeededGenerator(seed: 4)
        var backoff = Backoff(first: .seconds(10), longest: .seconds(1))
        #expect(backoff.next(using: &random) <= .seconds(1))
    }
}
