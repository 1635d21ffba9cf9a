import Glibc
import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Filters")
struct FilterTests {
    private let start: Int64 = 1_700_000_000_000_000

    /// Returns the gain of a filter for a tone after settling, in dB.
    private func gain(
        of filter: some MotionFilter, at frequency: Double, rate: Double, jitter: Double = 0
    ) -> Double {
        var filter = filter
        var generator = SeededGenerator(seed: 4)
        let seconds = 100 / min(frequency, 10) + 10
        var input = 0.0
        var output = 0.0
        for index in 0..<Int(seconds * rate) {
            let off = jitter > 0 ? Double.random(in: -jitter...jitter, using: &generator) : 0
            let elapsed = (Double(index) + off) / rate
            let time = start + Int64((elapsed * 1e6).rounded())
            let value = sin(2 * .pi * frequency * Double(time - start) / 1e6)
            let filtered = filter.update(SIMD3(value, 0, -value), time: time)
            if elapsed > 5 {
                input += value * value
                output += filtered.x * filtered.x
            }
        }
        return 10 * log10(output / input)
    }

    @Test(
        "both filters have −3 dB at the cut-off frequency, at any rate and with jitter",
        arguments: [(100.0, 0.0), (100, 0.4), (50, 0), (285.7, 0.2), (1000, 0)], [1.0, 5])
    func cutOff(sampling: (rate: Double, jitter: Double), frequency: Double) {
        let low = gain(
            of: LowPassFilter(cutOff: frequency), at: frequency, rate: sampling.rate, jitter: sampling.jitter)
        let high = gain(
            of: HighPassFilter(cutOff: frequency), at: frequency, rate: sampling.rate, jitter: sampling.jitter)
        print("filters: cut-off \(frequency) Hz at \(sampling.rate) Hz, jitter \(sampling.jitter): \(low), \(high) dB")
        #expect(abs(low + 3.01) < 0.3)
        #expect(abs(high + 3.01) < 0.3)
    }

    @Test("the gain is 0 dB in the pass band and −20 dB a decade away from it")
    func decades() {
        for rate in [200.0, 400] {
            let beyond = gain(of: LowPassFilter(cutOff: 2), at: 20, rate: rate)
            #expect(abs(beyond + 20) < 1)
            let within = gain(of: LowPassFilter(cutOff: 2), at: 0.2, rate: rate)
            #expect(abs(within) < 0.1)
            let below = gain(of: HighPassFilter(cutOff: 2), at: 0.2, rate: rate)
            #expect(abs(below + 20) < 1)
            let above = gain(of: HighPassFilter(cutOff: 2), at: 20, rate: rate)
            #expect(abs(above) < 0.3)
        }
    }

    @Test("the gains of chained filters multiply")
    func chain() {
        let twice = gain(of: LowPassFilter(cutOff: 5).then(LowPassFilter(cutOff: 5)), at: 5, rate: 400)
        #expect(abs(twice + 6.02) < 0.3)
        let band = HighPassFilter(cutOff: 0.2).then(LowPassFilter(cutOff: 40))
        let middle = gain(of: band, at: 3, rate: 400)
        #expect(abs(middle) < 0.3)
        let low = gain(of: band, at: 0.02, rate: 400)
        #expect(low < -19)
    }

    @Test("a filter starts in the steady state of the first sample")
    func firstSample() {
        let gravity = SIMD3(0.1, -0.2, -0.97)
        var low = LowPassFilter(cutOff: 1)
        var high = HighPassFilter(cutOff: 1)
        for index in 0..<10 {
            let time = start + Int64(index) * 10_000
            let kept = low.update(gravity, time: time)
            let removed = high.update(gravity, time: time)
            #expect(kept == gravity)
            #expect(removed == SIMD3(0, 0, 0))
        }
    }

    @Test("the low-pass filter has the step response of an RC circuit for any intervals")
    func step() {
        var filter = LowPassFilter(cutOff: 2)
        _ = filter.update(SIMD3(0, 0, 0), time: start)
        var time = start
        for interval in [1000, 30_000, 7, 12_000, 90_000, 400] as [Int64] {
            time += interval
            let output = filter.update(SIMD3(1, 2, 3), time: time)
            let expected = 1 - exp(-2 * .pi * 2 * Double(time - start) / 1e6)
            #expect(abs(output.x - expected) < 1e-12)
            #expect(abs(output.z - 3 * expected) < 1e-12)
        }
    }

    @Test("a filter restarts after a gap")
    func gap() {
        var low = LowPassFilter(cutOff: 0.5)
        var high = HighPassFilter(cutOff: 0.5)
        for index in 0..<100 {
            _ = low.update(SIMD3(1, 0, 0), time: start + Int64(index) * 10_000)
            _ = high.update(SIMD3(1, 0, 0), time: start + Int64(index) * 10_000)
        }
        let soon = start + 1_500_000
        let late = start + 4_000_000
        var copy = high
        let bridged = copy.update(SIMD3(3, 0, 0), time: soon)
        #expect(bridged.x > 0.5)
        let kept = low.update(SIMD3(3, 0, 0), time: late)
        let removed = high.update(SIMD3(3, 0, 0), time: late)
        #expect(kept == SIMD3(3, 0, 0))
        #expect(removed == SIMD3(0, 0, 0))
    }

    @Test("repeated, out-of-order and non-finite samples are ignored, and a clock set far back restarts the filter")
    func disorder() {
        var low = LowPassFilter(cutOff: 1)
        var high = HighPassFilter(cutOff: 1)
        _ = low.update(SIMD3(0, 0, 0), time: start)
        _ = high.update(SIMD3(0, 0, 0), time: start)
        let kept = low.update(SIMD3(1, 1, 1), time: start + 50_000)
        let removed = high.update(SIMD3(1, 1, 1), time: start + 50_000)
        for (value, time) in [(9.0, start + 50_000), (9, start + 20_000), (.nan, start + 60_000)] {
            let sameLow = low.update(SIMD3(1, value, 1), time: time)
            let sameHigh = high.update(SIMD3(1, value, 1), time: time)
            #expect(sameLow == kept)
            #expect(sameHigh == removed)
        }
        let restarted = low.update(SIMD3(5, 5, 5), time: start - 3_600_000_000)
        #expect(restarted == SIMD3(5, 5, 5))
        low.reset()
        let first = low.update(SIMD3(7, 7, 7), time: start - 3_600_000_000 + 1)
        #expect(first == SIMD3(7, 7, 7))
    }
}
