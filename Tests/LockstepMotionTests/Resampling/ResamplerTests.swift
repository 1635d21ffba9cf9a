import Glibc
import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Resampling")
struct ResamplerTests {
    private func resample(_ block: SampleBlock, to rate: Double) -> SampleBlock {
        var resampler = Resampler(stream: block.stream, rate: rate)
        var all = resampler.update(block)
        all.append(resampler.finish())
        return all
    }

    /// Returns the block without one second at each end, where the filter's window is incomplete.
    private func inner(_ block: SampleBlock) -> SampleBlock {
        let first = (block.times.first ?? 0) + 1_000_000
        let last = (block.times.last ?? 0) - 1_000_000
        let kept = block.times.indices.filter { (first...last).contains(block.times[$0]) }
        guard let low = kept.first, let high = kept.last else { return SampleBlock(stream: block.stream) }
        return block.part(low..<(high + 1))
    }

    @Test(
        "a tone above the Nyquist frequency is attenuated by 50 dB for evenly spaced samples",
        arguments: [(400.0, 45.0), (400, 40), (400, 60), (400, 155), (200, 45), (285.7, 45), (100, 45)])
    func attenuation(rate: Double, frequency: Double) {
        let output = inner(resample(tone(frequency, at: times(rate: rate, seconds: 20)), to: 50))
        let worst = output.columns[0].map(abs).max() ?? 1
        print("resampling: \(frequency) Hz at \(rate) Hz to 50 Hz: \(20 * log10(worst)) dB")
        #expect(output.count > 850)
        #expect(worst < 0.0032)
    }

    @Test(
        "a tone well below the wanted rate is kept within 1 % and 0.1 ms, with and without jitter",
        arguments: [(400.0, 0.0), (400, 0.4), (100, 0), (100, 0.3), (204.3, 0.2), (64, 0), (64, 0.2)])
    func passband(rate: Double, jitter: Double) {
        let output = inner(resample(tone(5, at: times(rate: rate, seconds: 20, jitter: jitter)), to: 50))
        let (amplitude, delay) = measuredTone(5, times: output.times, values: output.columns[0])
        print("resampling: 5 Hz at \(rate) Hz, jitter \(jitter): amplitude \(amplitude), delay \(delay * 1e6) µs")
        #expect(abs(amplitude - 1) < 0.01)
        #expect(abs(delay) < 1e-4)
        let errors = output.times.indices.map { index in
            let angle = 2 * .pi * 5 * Double(output.times[index] - start) / 1e6
            return abs(output.columns[0][index] - sin(angle))
        }
        #expect((errors.max() ?? 1) < (jitter > 0 ? 0.1 : 0.01))
        #expect(output.columns[1].allSatisfy { abs($0 - 0.25) < 1e-12 })
    }

    @Test("a tone above the Nyquist frequency is attenuated by 30 dB for jittered samples")
    func jitteredAttenuation() {
        let output = inner(resample(tone(45, at: times(rate: 400, seconds: 20, jitter: 0.3)), to: 50))
        let power = output.columns[0].reduce(0) { $0 + $1 * $1 } / Double(output.count)
        print("resampling: 45 Hz, jittered: \(10 * log10(2 * power)) dB")
        #expect(10 * log10(2 * power) < -30)
    }

    @Test("output times are whole multiples of the period since 1970, independent of the input times")
    func grid() {
        for rate in [50.0, 30, 12.5] {
            let left = resample(tone(1, at: times(rate: 104, seconds: 10)), to: rate)
            let right = resample(tone(1, at: times(rate: 211, seconds: 10, jitter: 0.2)), to: rate)
            #expect(abs(left.count - Int(10 * rate)) <= 1)
            #expect(Set(left.times).symmetricDifference(right.times).count <= 1)
            for time in left.times {
                let number = Double(time) / 1e6 * rate
                #expect(abs(number - number.rounded()) < 1e-4)
            }
        }
    }

    @Test("samples that are not faster than the wanted rate pass unchanged", arguments: [50.0, 52, 40, 10, 0.5])
    func passing(rate: Double) {
        let samples = tone(0.1, at: times(rate: rate, seconds: max(20, 20 / rate), jitter: 0.3))
        #expect(resample(samples, to: 50) == samples)
        #expect(resample(samples, to: .infinity) == samples)
    }

    @Test("a rate near the limit does not toggle the decision", arguments: [1.06, 1.1, 1.15, 1.19])
    func hysteresis(ratio: Double) {
        let samples = tone(1, at: times(rate: 50 * ratio, seconds: 60, jitter: 0.1))
        let output = resample(samples, to: 50)
        let own = Set(samples.times)
        let passed = output.times.map { own.contains($0) }
        // An input sample may lie on the grid by chance.
        let changes = zip(passed, passed.dropFirst()).count { $0 != $1 }
        #expect(changes <= 2)
    }

    @Test("the resampler adapts to a change of the sensor's rate within a second")
    func changeOfRate() {
        let slow = times(rate: 50, seconds: 10)
        let later = (slow.last ?? 0) - start + 20_000
        let fast = times(rate: 200, seconds: 10).map { $0 + later }
        let output = resample(tone(1, at: slow + fast), to: 50)
        #expect(zip(output.times, output.times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(abs(output.count - 1000) < 60)
        let back = resample(tone(1, at: fast.map { $0 - later } + slow.map { $0 + later }), to: 50)
        #expect(abs(back.count - 1000) < 60)
        #expect(zip(back.times, back.times.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("a gap is not bridged, and there are values up to its edges")
    func gap() {
        let all = times(rate: 400, seconds: 10)
        let gap = (start + 4_000_000)..<(start + 4_200_000)
        let output = resample(tone(2, at: all.filter { !gap.contains($0) }), to: 50)
        #expect(!output.times.contains { gap.contains($0) })
        let before = output.times.last { $0 < gap.lowerBound } ?? 0
        let after = output.times.first { $0 > gap.upperBound } ?? 0
        #expect(gap.lowerBound - before < 23_000)
        #expect(after - gap.upperBound < 23_000)
        // Half a window filters less well, but the values must still follow the signal.
        for index in output.times.indices {
            let angle = 2 * .pi * 2 * Double(output.times[index] - start) / 1e6
            #expect(abs(output.columns[0][index] - sin(angle)) < 0.2)
        }
    }

    @Test("a missing value affects only its own column, where a value is missing if half of its weight is missing")
    func missing() {
        let whole = tone(1, at: times(rate: 200, seconds: 4))
        var columns = whole.columns
        for index in stride(from: 0, to: 300, by: 10) { columns[0][index] = .nan }
        for index in 400..<600 { columns[1][index] = .nan }
        let output = resample(
            SampleBlock(stream: .accelerometer, times: whole.times, columns: columns), to: 50)
        let full = resample(whole, to: 50)
        #expect(output.times == full.times)
        #expect(zip(output.columns[0], full.columns[0]).allSatisfy { abs($0 - $1) < 0.1 })
        #expect(output.columns[2] == full.columns[2])
        let none = output.times.indices.filter { output.columns[1][$0].isNaN }.map { output.times[$0] }
        #expect(none.count > 40)
        #expect(none.allSatisfy { (start + 1_980_000)...(start + 3_020_000) ~= $0 })
        #expect(output.columns[1].allSatisfy { $0.isNaN || abs($0 - 0.25) < 1e-12 })
    }

    @Test("output times strictly increase even if time goes backward")
    func backwards() {
        let first = times(rate: 200, seconds: 4)
        let second = first.map { $0 - 2_000_000 } + first.map { $0 + 2_000_000 }
        for stream in [SensorStream.accelerometer, .location, .deviceMotion] {
            let samples = SampleBlock(
                stream: stream, times: first + second,
                columns: stream.columns.map { _ in (first + second).map { _ in 1.0 } })
            let output = resample(samples, to: 50)
            #expect(zip(output.times, output.times.dropFirst()).allSatisfy { $0 < $1 })
            #expect(output.count > 250)
        }
    }

    @Test("the sum of a spike is preserved")
    func spike() {
        var values = [Double](repeating: 0, count: 400)
        values[203] = 1
        let zeros = values.map { _ in 0.0 }
        let samples = SampleBlock(
            stream: .gyroscope, times: times(rate: 200, seconds: 2), columns: [values, zeros, zeros])
        let sum = resample(samples, to: 50).columns[0].reduce(0, +)
        #expect(abs(sum - 0.25) < 0.01)
    }
}
