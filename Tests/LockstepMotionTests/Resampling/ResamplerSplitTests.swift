import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Resampling in blocks")
struct ResamplerSplitTests {
    /// Returns samples with jitter, gaps, missing values, repeated times and changes of rate.
    private func messy(_ stream: SensorStream, seed: UInt64) -> SampleBlock {
        var generator = SeededGenerator(seed: seed)
        var block = SampleBlock(stream: stream)
        var time = start
        var interval = 5000.0
        for _ in 0..<3000 {
            switch Int.random(in: 0..<400, using: &generator) {
            case 0: time += Int64.random(in: 0...3_000_000, using: &generator)
            case 1: interval = Double.random(in: 2000...40_000, using: &generator)
            case 2: time -= Int64.random(in: 0...50_000, using: &generator)
            case 3: break
            default: time += Int64(interval * Double.random(in: 0.5...1.5, using: &generator))
            }
            let values = stream.columns.map { _ in
                Int.random(in: 0..<20, using: &generator) == 0 ? .nan : Double.random(in: -2...2, using: &generator)
            }
            block.append(time: Timestamp(microseconds: time), values: values)
        }
        return block
    }

    @Test("the division of samples into blocks has no effect", arguments: UInt64(0)..<8)
    func splits(seed: UInt64) {
        for stream in SensorStream.builtIn where stream.resampling != .everySample {
            let samples = messy(stream, seed: seed)
            var whole = Resampler(stream: stream, rate: 50)
            var expected = whole.update(samples)
            expected.append(whole.finish())
            #expect(zip(expected.times, expected.times.dropFirst()).allSatisfy { $0 < $1 })
            #expect(expected.count > 300)

            var generator = SeededGenerator(seed: seed, lane: 1)
            var divided = Resampler(stream: stream, rate: 50)
            var output = SampleBlock(stream: stream)
            var index = 0
            while index < samples.count {
                let end = min(samples.count, index + Int.random(in: 0...40, using: &generator))
                output.append(divided.update(samples.part(index..<end)))
                index = end
            }
            output.append(divided.finish())
            #expect(output == expected)
        }
    }

    @Test("a value is emitted as soon as the samples of the three following periods have arrived")
    func promptness() {
        let samples = tone(1, at: times(rate: 200, seconds: 5))
        var resampler = Resampler(stream: .accelerometer, rate: 50)
        var given = Int64.min
        for index in 0..<samples.count {
            let output = resampler.update(samples.part(index..<(index + 1)))
            given = output.times.last ?? given
            if index > 60 { #expect(samples.times[index] - given < 60_000 + 20_000) }
        }
    }

    @Test("device motion is selected, not averaged: each output is the input sample nearest to its instant")
    func deviceMotion() {
        let all = times(rate: 200, seconds: 5, jitter: 0.3)
        let columns = SensorStream.deviceMotion.columns.map { _ in all.map { Double($0 % 1000) } }
        var resampler = Resampler(stream: .deviceMotion, rate: 50)
        let output = resampler.update(SampleBlock(stream: .deviceMotion, times: all, columns: columns))
        #expect(abs(output.count - 250) <= 1)
        #expect(Set(output.times).isSubset(of: all))
        for time in output.times.dropFirst().dropLast() {
            let instant = (time + 10_000) / 20_000 * 20_000
            let best = all.map { abs($0 - instant) }.min() ?? 0
            #expect(abs(time - instant) == best)
        }
    }

    @Test("at most one location per period passes, without delay, and a lost fix always passes")
    func locations() {
        let seconds = Array(0..<100)
        let lost = 42
        var samples = SampleBlock(stream: .location)
        for second in seconds {
            let values = second == lost ? [Double](repeating: .nan, count: 9) : [Double](repeating: 1, count: 9)
            samples.append(time: Timestamp(microseconds: start + Int64(second) * 1_000_000), values: values)
        }
        var resampler = Resampler(stream: .location, rate: 0.1)
        let output = resampler.update(samples)
        #expect((11...13).contains(output.count))
        #expect(output.times.contains(samples.times[lost]))
        #expect(output.times.contains(samples.times[lost + 1]))
        var same = Resampler(stream: .location, rate: 1)
        #expect(same.update(samples) == samples)
    }

    @Test("samples of steps and orientation are never dropped")
    func counts() {
        for stream in [SensorStream.steps, .orientation] {
            let samples = messy(stream, seed: 3)
            var resampler = Resampler(stream: stream, rate: 0.1)
            #expect(resampler.update(samples) == samples)
        }
    }
}
