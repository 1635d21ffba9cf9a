import FoundationEssentials
import LockstepModel
import LockstepWire
import SensorTestSupport
import Testing

@Suite("Batch in JSON")
struct BatchEncodingTests {
    @Test("a batch is encoded as specified")
    func format() {
        let batch = batch(
            times: [1_700_000_000_000_000, 1_700_000_000_020_000, 1_700_000_000_040_000], x: [0.5, -0.25, 3])
        #expect(
            text(BatchJSON.encode(batch))
                == #"{"v":1,"epoch":"e1","seq":42,"t":1700000000000000,"dt":20000,"x":[0.5,-0.25,3.0],"#
                + #""y":[-0.5,0.25,-3.0],"z":[1.0,1.0,1.0]}"#)
    }

    @Test("different intervals are encoded as an array")
    func unevenSteps() {
        #expect(
            text(BatchJSON.encode(batch(times: [100, 110, 130], x: [1, 2, 3])))
                == #"{"v":1,"epoch":"e1","seq":42,"t":100,"dt":[10,20],"x":[1.0,2.0,3.0],"y":[-1.0,-2.0,-3.0],"z":[1.0,1.0,1.0]}"#
        )
    }

    @Test("a single sample has no 'dt', and a batch without position has no 'epoch' and 'seq'")
    func single() {
        #expect(
            text(BatchJSON.encode(batch(times: [7], x: [1], seq: nil)))
                == #"{"v":1,"t":7,"x":[1.0],"y":[-1.0],"z":[1.0]}"#)
    }

    @Test("only a late batch has the key 'live'")
    func late() {
        #expect(
            text(BatchJSON.encode(batch(times: [7], x: [1], isLive: false)))
                == #"{"v":1,"epoch":"e1","seq":42,"live":false,"t":7,"x":[1.0],"y":[-1.0],"z":[1.0]}"#)
    }

    @Test("an unknown value is encoded as null, and a column without known values is omitted")
    func nulls() {
        var block = SampleBlock(stream: .steps)
        block.append(time: Timestamp(microseconds: 20), values: [10, 3, .nan, .nan, 0.5, .nan])
        block.append(time: Timestamp(microseconds: 30), values: [20, 4, 2.5, .nan, .nan, .nan])
        #expect(
            text(BatchJSON.encode(Batch(position: nil, samples: block)))
                == #"{"v":1,"t":20,"dt":10,"start":[10,20],"steps":[3,4],"distance":[null,2.5],"avg_pace":[0.5,null]}"#)
    }

    @Test("something that is not a body is published unchanged")
    func noBody() {
        let position = BatchPosition(epoch: Epoch(unchecked: "e"), seq: 1)
        for bytes in ["", "{}", "[1]", "\u{a1}\u{61}", #"{"v":2,"t":1}"#].map({ Array($0.utf8) }) {
            #expect(BatchEncoding.payload(of: bytes, at: position, isLive: true) == bytes)
        }
        #expect(BatchEncoding.payload(of: [0xa1, 0x61], at: position, isLive: false) == [0xa1, 0x61])
    }
}
