import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Backoff")
struct BackoffTests {
    @Test("the limit doubles up to the maximum, and each delay is between half of the limit and the limit")
    func bounds() {
        var (random, seed) = seeded("backoff")
        for _ in 0..<50 {
            var backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(30))
            for limit in [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000] {
                let delay = backoff.next(using: &random)
                #expect(delay >= .milliseconds(limit / 2) && delay <= .milliseconds(limit), "seed \(seed)")
            }
        }
    }

    @Test("the delays of different clients differ")
    func jitter() {
        var random = SeededGenerator(seed: 1)
        let delays = (0..<100).map { _ in
            var backoff = Backoff()
            return backoff.next(using: &random)
        }
        #expect(Set(delays).count > 90)
        #expect((delays.max() ?? .zero) - (delays.min() ?? .zero) > .milliseconds(200))
    }

    @Test("the limit stays at the maximum after any number of failures")
    func maximum() {
        var random = SeededGenerator(seed: 2)
        var backoff = Backoff(initial: .seconds(1), maximum: .seconds(7))
        var last = Duration.zero
        for _ in 0..<10_000 { last = backoff.next(using: &random) }
        #expect(last >= .seconds(3.5) && last <= .seconds(7))
    }

    @Test("a reset restores the initial limit")
    func reset() {
        var random = SeededGenerator(seed: 3)
        var backoff = Backoff(initial: .milliseconds(100), maximum: .seconds(60))
        for _ in 0..<8 { _ = backoff.next(using: &random) }
        backoff.reset()
        #expect(backoff.next(using: &random) <= .milliseconds(100))
        #expect(backoff.next(using: &random) > .milliseconds(99))
    }

    @Test("the maximum also limits the first delay")
    func smallMaximum() {
        var random = SeededGenerator(seed: 4)
        var backoff = Backoff(initial: .seconds(10), maximum: .seconds(1))
        #expect(backoff.next(using: &random) <= .seconds(1))
    }
}
