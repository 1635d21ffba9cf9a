import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Envelopes", .temporaryFolder)
struct EnvelopeTests {
    private func query(
        _ times: Range<Int64>, points: Int, of name: String = "one", stream: SensorStream = .accelerometer
    ) -> EnvelopeQuery {
        EnvelopeQuery(
            device: device(name), stream: stream, from: time(times.lowerBound), to: time(times.upperBound),
            points: points)
    }

    @Test(
        "least and greatest values are those of a brute-force search, before, during and after merges", arguments: 1...4
    )
    func random(seed: UInt64) throws {
        var model = try HistoryModel(seed: seed)
        var random = SplitMix64(seed: seed)
        let reader = try StoreReader(path: model.store.path)
        for step in 0..<150 {
            try model.step()
            guard step % 5 == 0 else { continue }
            for stream in RandomBatches.streams {
                let first = Int64.random(in: -5...150, using: &random)
                let asked = query(
                    first..<first + .random(in: 0...200, using: &random), points: .random(in: 1...90, using: &random),
                    of: "d\(Int.random(in: 0..<6, using: &random))", stream: stream)
                #expect(try reader.envelope(asked).lines == model.envelope(asked), "seed \(seed), step \(step)")
            }
        }
        #expect(model.samples.count > 1000)
    }

    @Test("buckets start with the range, and its end is excluded")
    func bounds() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([9, 10, 19, 20, 29, 30])))
        let reader = try StoreReader(path: path)
        func lines(_ times: Range<Int64>, _ points: Int) throws -> [String] {
            try reader.envelope(query(times, points: points)).lines
        }
        #expect(try lines(10..<30, 2) == ["10|2|10.0|19.0|0.5|0.5|-1.0|-1.0", "20|2|20.0|29.0|0.5|0.5|-1.0|-1.0"])
        // 20 µs in 3 buckets: 7 µs each, and the last one extends beyond the range.
        #expect(query(10..<30, points: 3).width == 7)
        #expect(try lines(10..<30, 3).map { $0.prefix(4) } == ["10|1", "17|2", "24|1"])
        #expect(try lines(10..<11, 1000) == ["10|1|10.0|10.0|0.5|0.5|-1.0|-1.0"])
        #expect(query(10..<30, points: 1000).width == 1)
        #expect(try lines(10..<30, 1000).map { $0.prefix(4) } == ["10|1", "19|1", "20|1", "29|1"])
        #expect(try lines(11..<19, 10).isEmpty && lines(10..<10, 10).isEmpty)
        #expect(try lines(0..<100, 1) == ["0|6|9.0|30.0|0.5|0.5|-1.0|-1.0"])
    }

    @Test("a range of all times, a range whose end precedes its start, and zero points are accepted")
    func extremeRanges() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1, 2])))
        let reader = try StoreReader(path: path)
        func samples(_ from: Int64, _ to: Int64, _ points: Int) throws -> [Int64] {
            try reader.envelope(
                EnvelopeQuery(
                    device: device("one"), stream: .accelerometer, from: Timestamp(microseconds: from),
                    to: Timestamp(microseconds: to), points: points)
            ).buckets.map(\.samples)
        }
        #expect(try samples(.min, .max, 1) == [2])
        #expect(try samples(.min, .max, 1000) == [2])
        #expect(try samples(.max, .min, 10) == [])
        #expect(try samples(start, start + 10, 0) == [2])
    }

    @Test("unknown devices and streams have no buckets, and columns of words are left out")
    func unknown() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1])))
        let reader = try StoreReader(path: path)
        #expect(try reader.envelope(query(0..<10, points: 5, of: "two")).buckets.isEmpty)
        let spectrum = try #require(RandomBatches.streams.last)
        #expect(try reader.envelope(query(0..<10, points: 5, stream: spectrum)).buckets.isEmpty)
        #expect(try reader.envelope(query(0..<10, points: 5, stream: .battery)).columns.map(\.name) == ["level"])
    }

    @Test("a column without known values is null in its bucket, and nulls do not hide known values")
    func nulls() throws {
        let (store, path) = try newStore()
        var block = SampleBlock(stream: .battery)
        for (offset, level) in [0.5, .nan, 0.25, .nan, .nan, -1].enumerated() {
            block.append(time: time(Int64(offset)), values: [level, 1])
        }
        for isMerged in [false, true] {
            try store.write(received(block))
            if isMerged { try store.mergeAll() }
            let lines = try StoreReader(path: path).envelope(query(0..<9, points: 3, stream: .battery)).lines
            #expect(lines == ["0|3|0.25|0.5", "3|3|-1.0|-1.0"])
            let each = try StoreReader(path: path).envelope(query(0..<6, points: 6, stream: .battery)).lines
            #expect(each[1] == "1|1|nan|nan" && each[3] == "3|1|nan|nan")
        }
    }
}
