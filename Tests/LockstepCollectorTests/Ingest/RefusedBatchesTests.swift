import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Refused batches")
struct RefusedBatchesTests {
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    @Test("a batch that is rejected for now is reported, an invalid one or one without a number is not")
    mutating func reported() {
        let batch = IntakeTests.batch(at: 100, seq: 7)
        intake.ingest(IntakeTests.topic, BatchJSON.encode(batch), isRetained: true, &registry, 0)
        intake.ingest(
            IntakeTests.topic, Array(#"{"epoch":"e1","seq":9,"t":1,"x":[null],"y":[1],"z":[1]}"#.utf8), &registry, 0)
        #expect(intake.refusedBatches.take(at: 0).isEmpty)
        intake.ingest(IntakeTests.topic, BatchJSON.encode(batch), &registry, 0)
        let refusals = intake.refusedBatches.take(at: 0)
        #expect(refusals.map(\.position) == [BatchPosition(epoch: epoch, seq: 7)] && refusals.map(\.device) == [device])
        #expect(refusals.first?.reason.hasSuffix("check the clocks of the device and of the collector") == true)
        intake.ingest(
            IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 100, seq: nil)), &registry, 0)
        #expect(intake.refusedBatches.take(at: 10_000_000).isEmpty)
    }

    @Test(
        "a numbered batch of a channel that is not known is reported with the reason",
        arguments: ["x/air", "motion/unknown"], BatchEncoding.allCases)
    mutating func unknownChannel(_ name: String, _ encoding: BatchEncoding) {
        let topic = "lockstep/\(device.group)/\(device.device)/\(name)"
        let payload = encoding.encode(IntakeTests.batch(at: 0, seq: 7))
        intake.ingest(topic, payload, isRetained: true, &registry, 0)
        intake.ingest(topic, encoding.encode(IntakeTests.batch(at: 0, seq: nil)), &registry, 0)
        intake.ingest(topic, Array("no batch".utf8), &registry, 0)
        intake.ingest("lockstep/\(device.group)/not an id/\(name)", payload, &registry, 0)
        #expect(intake.refusedBatches.take(at: 0).isEmpty)
        intake.ingest(topic, payload, &registry, 0)
        let refusals = intake.refusedBatches.take(at: 0)
        #expect(refusals.map(\.position) == [BatchPosition(epoch: epoch, seq: 7)] && refusals.map(\.device) == [device])
        #expect(refusals.first?.reason.contains("declare") == true)
        // Recording the number as dropped would make the agent delete the batch.
        #expect(intake.group.dropped.isEmpty && intake.group.rejected.count == 5)
    }

    @Test("a device is told once in five seconds")
    func interval() {
        var batches = RefusedBatches()
        var counts: [Int] = []
        for boot: Int64 in [0, 4_999_999, 5_000_000, 5_000_000] {
            for seq: Int64 in 1...3 {
                batches.add(BatchPosition(epoch: epoch, seq: seq), of: device, reason: "later")
            }
            counts.append(batches.take(at: boot).count)
        }
        #expect(counts == [1, 0, 1, 0])
        #expect(batches.take(at: 60_000_000).isEmpty, "what was not sent in time is discarded")
    }

    @Test("a long reason is shortened")
    func reason() {
        var batches = RefusedBatches()
        batches.add(BatchPosition(epoch: epoch, seq: 1), of: device, reason: String(repeating: "x", count: 5000))
        #expect(batches.take(at: 0).first?.reason.utf8.count == 500)
    }
}
