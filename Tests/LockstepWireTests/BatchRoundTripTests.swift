import FoundationEssentials
import LockstepModel
import LockstepWire
import SensorTestSupport
import Testing

@Suite("Round trip of a batch")
struct BatchRoundTripTests {
    @Test(
        "edge-case values survive a round trip bit for bit",
        arguments: BatchEncoding.allCases,
        [
            0, -0.0, 1, -1, 0.1, 1.0 / 3, .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude,
            1e16, 1e-7, 123_456_789.123456789, .pi, 9_007_199_254_740_992, 1e22, 1e23, -4.35e-5,
        ])
    func values(_ encoding: BatchEncoding, _ value: Double) throws {
        for values in [[value], [value, value], [value, 0.25], [0.1, value, 0.3], [value, 1, 2, 3, 4, 5, 6, 7]] {
            let sent = batch(times: (1...values.count).map { Int64($0) }, x: values)
            #expect(areIdentical(sent, try encoding.roundTrip(sent)), "\(values)")
        }
    }

    @Test("random values survive a round trip bit for bit", arguments: BatchEncoding.allCases)
    func randomValues(_ encoding: BatchEncoding) throws {
        var (random, seed) = seeded("values through \(encoding)")
        var values: [Double] = []
        while values.count < 5000 {
            let value = Double(bitPattern: random.next())
            if value.isFinite { values.append(value) }
        }
        let sent = batch(times: (1...5000).map { $0 * 3 }, x: values)
        #expect(areIdentical(sent, try encoding.roundTrip(sent)), "seed \(seed)")
    }

    @Test(
        "whole numbers, nulls, positions and times survive a round trip", arguments: BatchEncoding.allCases,
        [true, false])
    func everything(_ encoding: BatchEncoding, _ isLive: Bool) throws {
        var block = SampleBlock(stream: .location)
        let known: [Double] = [52.5, 13.4, -12.25, 3, 5.5, 0, 359.9, 3, 9_007_199_254_740_991]
        block.append(time: Timestamp(microseconds: 0), values: known)
        block.append(time: Timestamp(microseconds: 9_007_199_254_740_991), values: known.map { _ in .nan })
        block.append(time: Timestamp(microseconds: 9_007_199_254_740_991), values: known)
        let times: [Int64] = [0, 9_007_199_254_740_990, 9_007_199_254_740_991]
        let sent = Batch(
            position: BatchPosition(epoch: Epoch(unchecked: "a.b-c_9"), seq: 9_007_199_254_740_991), isLive: isLive,
            samples: SampleBlock(stream: .location, times: times, columns: block.columns))
        #expect(areIdentical(sent, try encoding.roundTrip(sent)))
    }

    @Test("random batches of all streams survive a round trip", arguments: BatchEncoding.allCases)
    func randomBatches(_ encoding: BatchEncoding) throws {
        var (random, seed) = seeded("batches through \(encoding)")
        for round in 0..<500 {
            let sent = Batch.random(using: &random)
            guard areIdentical(sent, try encoding.roundTrip(sent)) else {
                Issue.record("seed \(seed), batch \(round)")
                return
            }
        }
    }

    @Test("series that resemble sensor data survive a round trip")
    func series() throws {
        var (random, seed) = seeded("series through CBOR")
        for round in 0..<2000 {
            let sent = Batch.series(using: &random)
            guard areIdentical(sent, try BatchEncoding.cbor.roundTrip(sent)) else {
                Issue.record("seed \(seed), batch \(round)")
                return
            }
        }
    }

    @Test("a body with a head is the encoding of the numbered batch, live and late", arguments: BatchEncoding.allCases)
    func payloads(_ encoding: BatchEncoding) throws {
        var (random, seed) = seeded("bodies of \(encoding)")
        for stream in SensorStream.builtIn {
            for _ in 0..<20 {
                let samples = Batch.random(of: stream, using: &random).samples
                let body = encoding.encode(Batch(position: nil, samples: samples))
                let position = BatchPosition(epoch: .random(), seq: .random(in: 1...1 << 52, using: &random))
                for isLive in [true, false] {
                    let batch = Batch(position: position, isLive: isLive, samples: samples)
                    let payload = BatchEncoding.payload(of: body, at: position, isLive: isLive)
                    #expect(payload == encoding.encode(batch), "seed \(seed)")
                }
            }
        }
    }
}

extension BatchEncoding {
    /// Encodes a batch and decodes it without specifying the encoding.
    fileprivate func roundTrip(_ batch: Batch) throws -> Batch {
        try BatchEncoding.decode(Data(encode(batch)), stream: batch.samples.stream)
    }
}
