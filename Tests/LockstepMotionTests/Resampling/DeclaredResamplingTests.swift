import LockstepModel
import LockstepMotion
import Testing

@Suite("Resampling of declared streams")
struct DeclaredResamplingTests {
    /// Returns 1,000 samples at 100 Hz, resampled to 1 Hz. Each value is `value` of the sample's index.
    private func resampled(
        _ kind: SensorStream.Kind, _ aggregate: SensorStream.Aggregate? = nil, value: (Int) -> Double
    ) throws -> SampleBlock {
        let column = try SensorStream.Column(declaring: "value", kind: kind, aggregate: aggregate)
        let stream = try SensorStream(declaring: "x/a", columns: [column])
        let times = (0..<1000).map { Int64($0) * 10_000 }
        var resampler = Resampler(stream: stream, rate: 1)
        var result = resampler.update(
            SampleBlock(stream: stream, times: times, columns: [(0..<1000).map(value)]))
        result.append(contentsOf: resampler.finish())
        return result
    }

    @Test("amounts pass unchanged, because dropping samples would change their sum")
    func amounts() throws {
        #expect(try resampled(.integer, .sum) { _ in 1 }.columns[0].reduce(0, +) == 1000)
    }

    @Test("choices are decimated and keep their values")
    func choices() throws {
        let choices = try resampled(.choice(["off", "on"])) { Double($0 % 2) }
        #expect(choices.count < 100)
        #expect(choices.isComplete)
    }

    @Test("real numbers are low-pass filtered")
    func reals() throws {
        let reals = try resampled(.real) { $0 % 2 == 0 ? 0 : 1 }
        #expect(reals.count < 100 && !reals.isEmpty)
        #expect(reals.columns[0].allSatisfy { abs($0 - 0.5) < 0.1 })
    }
}
