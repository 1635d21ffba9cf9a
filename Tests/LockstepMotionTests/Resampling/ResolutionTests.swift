import LockstepModel
import LockstepMotion
import Testing

@Suite("Resolution of resampled values")
struct ResolutionTests {
    private static func resampled(_ value: (Int) -> Double) -> [Double] {
        var resampler = Resampler(stream: .accelerometer, rate: 25)
        let times = (0..<200).map { 1_700_000_000_000_000 + Int64($0) * 10_000 }
        let x = times.indices.map(value)
        let block = SampleBlock(stream: .accelerometer, times: times, columns: [x, x, x])
        let output = resampler.update(block)
        return output.columns[0] + resampler.finish().columns[0]
    }

    @Test("resampled values have as many decimals as the samples")
    func decimals() {
        // Thirds of 0.00001 are neither in the samples nor in the output.
        let values = Self.resampled { Double($0 % 3 == 0 ? 12_345 : 12_346) / 100_000 }
        #expect(values.count > 40)
        for value in values { #expect(value == (value * 100_000).rounded() / 100_000) }
        #expect(Set(values).isSubset(of: [0.12345, 0.12346]))
    }

    @Test("resampled values have four decimals for whole numbers and are not rounded for samples with many decimals")
    func limits() {
        let whole = Self.resampled { Double($0 % 2) }
        #expect(whole.allSatisfy { $0 == ($0 * 10_000).rounded() / 10_000 })
        #expect(whole.contains { $0 != $0.rounded() })
        let irrational = Self.resampled { Double($0 % 3) / 3 }
        #expect(irrational.contains { $0 != ($0 * 1e9).rounded() / 1e9 })
    }

    @Test("values are never negative zero")
    func zero() {
        let values = Self.resampled { $0 % 2 == 0 ? 0 : -0.0001 / 16 }
        #expect(values.allSatisfy { $0 != 0 || $0.sign == .plus })
    }
}
