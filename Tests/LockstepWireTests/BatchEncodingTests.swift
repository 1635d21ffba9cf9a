import FoundationEssentials
import LockstepModel
import LockstepWire
import SensorTestSupport
import Testing

@Suite("A batch in JSON")
struct BatchEncodingTests {
    @Test("looks as the contract shows it")
    func contract() {
        let batch = batch(
            times: [1_700_000_000_000_000, 1_700_000_000_020_000, 1_700_000_000_040_000], x: [0.5, -0.25, 3])
        #expect(
            text(BatchJSON.encode(batch))
                == #"{"v":1,"epoch":"e1","seq":42,"t":1700000000000000,"dt":20000,"x":[0.5,-0.25,3.0],"#
                + #""y":[-0.5,0.25,-3.0],"z":[1.0,1.0,1.0]}"#)
    }

    @Test("has an array of steps where they differ")
    func unevenSteps() {
        #expect(
            text(BatchJSON.encode(batch(times: [100, 110, 130], x: [1, 2, 3])))
                == #"{"v":1,"epoch":"e1","seq":42,"t":100,"dt":[10,20],"x":[1.0,2.0,3.0],"y":[-1.0,-2.0,-3.0],"z":[1.0,1.0,1.0]}"#
        )
    }

    @Test("has no step where there is one sample, and no number where there is none")
    func single() {
        #expect(
            text(BatchJSON.encode(batch(times: [7], x: [1], seq: nil)))
                == #"{"v":1,"t":7,"x":[1.0],"y":[-1.0],"z":[1.0]}"#)
    }

    @Test("says that it is late, and says nothing where it is live")
    func late() {
        #expect(
            text(BatchJSON.encode(batch(times: [7], x: [1], isLive: false)))
                == #"{"v":1,"epoch":"e1","seq":42,"live":false,"t":7,"x":[1.0],"y":[-1.0],"z":[1.0]}"#)
    }

    @Test("has null where a value is not known, and leaves out columns without any known value")
    func nulls() {
        var block = SampleBlock(stream: .steps)
        block.append(time: Timestamp(microseconds: 20), values: [10, 3, .nan, .nan, 0.5, .nan])
        block.append(time: Timestamp(microseconds: 30), values: [20, 4, 2.5, .nan, .nan, .nan])
        #expect(
            text(BatchJSON.encode(Batch(position: nil, samples: block)))
                == #"{"v":1,"t":20,"dt":10,"start":[10,20],"steps":[3,4],"distance":[null,2.5],"avg_pace":[0.5,null]}"#)
    }

    @Test("marked late afterwards is the same batch as one encoded as late")
    func markingLate() throws {
        let live = batch(times: [1, 2, 4], x: [1, 2, 3])
        var late = live
        late.isLive = false
        let marked = BatchJSON.markingLate(BatchJSON.encode(live))
        #expect(try BatchJSON.decode(Data(marked), stream: .accelerometer) == late)
        #expect(try BatchJSON.decode(Data(BatchJSON.encode(late)), stream: .accelerometer) == late)
        #expect(text(marked).hasPrefix(#"{"live":false,"v":1,"epoch""#))
    }
}

@Suite("A batch through JSON and back")
struct BatchRoundTripTests {
    @Test(
        "keeps every value to the last bit",
        arguments: [
            0, -0.0, 1, -1, 0.1, 1.0 / 3, .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude,
            1e16, 1e-7, 123_456_789.123456789, .pi, 9_007_199_254_740_992, 1e22, 1e23, -4.35e-5,
        ])
    func values(_ value: Double) throws {
        let sent = batch(times: [1], x: [value])
        let back = try BatchJSON.decode(Data(BatchJSON.encode(sent)), stream: .accelerometer)
        #expect(back.samples.columns[0][0].bitPattern == value.bitPattern)
        #expect(areIdentical(sent, back))
    }

    @Test("keeps any value to the last bit")
    func randomValues() throws {
        var (random, seed) = seeded("values through JSON")
        var values: [Double] = []
        while values.count < 5000 {
            let value = Double(bitPattern: random.next())
            if value.isFinite { values.append(value) }
        }
        let sent = batch(times: (1...5000).map { $0 * 3 }, x: values)
        let back = try BatchJSON.decode(Data(BatchJSON.encode(sent)), stream: .accelerometer)
        #expect(areIdentical(sent, back), "seed \(seed)")
    }

    @Test("keeps whole numbers, nulls, positions and times", arguments: [true, false])
    func everything(_ isLive: Bool) throws {
        var block = SampleBlock(stream: .location)
        let known: [Double] = [52.5, 13.4, -12.25, 3, 5.5, 0, 359.9, 3, 9_007_199_254_740_991]
        block.append(time: Timestamp(microseconds: 0), values: known)
        block.append(time: Timestamp(microseconds: 9_007_199_254_740_991), values: known.map { _ in .nan })
        block.append(time: Timestamp(microseconds: 9_007_199_254_740_991), values: known)
        let times: [Int64] = [0, 9_007_199_254_740_990, 9_007_199_254_740_991]
        let sent = Batch(
            position: BatchPosition(epoch: Epoch(unchecked: "a.b-c_9"), seq: 9_007_199_254_740_991), isLive: isLive,
            samples: SampleBlock(stream: .location, times: times, columns: block.columns))
        let back = try BatchJSON.decode(Data(BatchJSON.encode(sent)), stream: .location)
        #expect(areIdentical(sent, back))
    }

    @Test("keeps batches of any stream, size and spacing")
    func randomBatches() throws {
        var (random, seed) = seeded("batches through JSON")
        for _ in 0..<300 {
            let sent = Batch.random(using: &random)
            let back = try BatchJSON.decode(Data(BatchJSON.encode(sent)), stream: sent.samples.stream)
            guard areIdentical(sent, back) else {
                Issue.record("seed \(seed): \(text(BatchJSON.encode(sent)))")
                return
            }
        }
    }
}
