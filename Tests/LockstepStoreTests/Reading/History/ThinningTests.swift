import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Every n-th sample", .temporaryFolder)
struct ThinningTests {
    @Test("the samples are every n-th of a brute-force search, before, during and after merges", arguments: 1...3)
    func random(seed: UInt64) throws {
        var model = try HistoryModel(seed: seed)
        var random = SplitMix64(seed: seed)
        let reader = try StoreReader(path: model.store.path)
        for step in 0..<120 {
            try model.step()
            guard step % 6 == 0 else { continue }
            for stream in RandomBatches.streams {
                let first = Int64.random(in: -5...150, using: &random)
                let times = first..<first + .random(in: 0...200, using: &random)
                let name = "d\(Int.random(in: 0..<6, using: &random))"
                let points = Int.random(in: 1...40, using: &random)
                let found = try reader.everyNth(
                    EnvelopeQuery(
                        device: device(name), stream: stream, from: time(times.lowerBound), to: time(times.upperBound),
                        points: points))
                let all = model.samples(name, stream, times)
                let n = max(1, (all.count + points - 1) / points)
                let expected = stride(from: 0, to: all.count, by: n).map { all[$0] }
                #expect(found.count <= points)
                #expect(found.map { $0.time.microseconds - start } == expected.map(\.time))
                #expect(found.map { "\($0.values)" } == expected.map { "\($0.values)" })
            }
        }
    }
}
