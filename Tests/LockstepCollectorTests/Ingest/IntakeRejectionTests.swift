import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Rejection of messages")
struct IntakeRejectionTests {
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    @Test(
        "a rejected message is kept with its topic, reason, size and first bytes",
        arguments: [
            (
                "lockstep/lab/pi/steps", "{",
                "not valid JSON: no name of a member at byte 1 (JSON has no NaN or Infinity: use null for an unknown value)"
            ),
            (
                "lockstep/lab/pi/steps", "",
                "not valid JSON: no value at byte 0 (JSON has no NaN or Infinity: use null for an unknown value)"
            ),
            (IntakeTests.topic, #"{"t":1,"x":[1],"y":[1]}"#, "'z' is missing"),
            ("lockstep/lab/pi/presence", "{}", "'phase' is missing"),
            (
                "lockstep/lab/pi/nonsense", "x",
                "'nonsense' is not a channel: use a stream such as 'motion/accelerometer'; streams of your own begin with "
                    + "'x/' and must be declared in the settings"
            ),
            ("lockstep/lab/a/b/steps", "x", "'b/steps' is not a channel: a device id cannot contain '/'"),
            ("lockstep/lab/p i/steps", "x", "'p i' is not a device id: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
        ])
    mutating func reasons(_ topic: String, _ payload: String, _ reason: String) {
        intake.ingest(topic, Array(payload.utf8), &registry, 11)
        let group = intake.takeGroup(&registry, at: moment(11))
        #expect(
            group.rejected == [
                RejectedMessage(
                    at: time(11), topic: topic, reason: reason, size: payload.utf8.count, head: Array(payload.utf8))
            ])
        #expect(group.batches.isEmpty && group.lifecycles.isEmpty && group.dropped.isEmpty && group.seen.isEmpty)
    }

    @Test(
        "a payload that is too large is rejected, and its first 256 bytes are kept",
        arguments: [IntakeTests.topic, "lockstep/lab/pi/presence"])
    mutating func tooLarge(_ topic: String) {
        intake.ingest(topic, Array(repeating: UInt8(ascii: " "), count: 2001), &registry, 11)
        #expect(intake.group.rejected.map(\.reason) == ["the payload has 2001 bytes: the limit is 2000"])
        #expect(intake.group.rejected.map(\.size) == [2001])
        #expect(intake.group.rejected.map(\.head.count) == [256])
    }

    @Test(
        "a batch without a number from before 2000 is rejected with the unit that it seems to have",
        arguments: [
            (1_795_232_034, "seconds: multiply"), (1_795_232_034_661, "milliseconds: multiply"), (8e14, "clock"),
        ])
    mutating func wrongUnit(_ time: Double, _ part: String) {
        intake.ingest(IntakeTests.topic, Array(#"{"t":\#(Int64(time)),"x":[1],"y":[1],"z":[1]}"#.utf8), &registry, 11)
        let group = intake.takeGroup(&registry, at: moment(11))
        let reason = group.rejected.first?.reason ?? ""
        #expect(reason.hasPrefix("'t' must be in µs since 1970") && reason.contains(part), "\(reason)")
        #expect(group.batches.isEmpty && group.dropped.isEmpty && intake.refusedBatches.take(at: 0).isEmpty)
    }

    @Test("a batch that an agent has accepted without a clock is stored")
    mutating func withoutClock() {
        intake.ingest(
            IntakeTests.topic, Array(#"{"epoch":"e1","seq":1,"t":1795232034,"x":[1],"y":[1],"z":[1]}"#.utf8), &registry,
            11)
        let group = intake.takeGroup(&registry, at: moment(11))
        #expect(group.batches.count == 1 && group.rejected.isEmpty)
    }

    @Test("a long reason is truncated")
    mutating func longReason() {
        let accents = String(repeating: "\u{301}", count: 900)
        let payload = #"{"t":1,"x":[1],"y":[1],"z":[1],"epoch":"a\#(accents)","seq":1}"#
        intake.ingest(IntakeTests.topic, Array(payload.utf8), &registry, 11)
        #expect(intake.group.rejected.count == 1)
        #expect((900...1010).contains(intake.group.rejected.first?.reason.utf8.count ?? 0))
    }

    @Test("messages of devices beyond the limit are rejected, and their agents keep the batches")
    mutating func tooManyDevices() {
        let reason = "too many devices: the limit of 3 is reached; raise the collector's --max-devices to accept more"
        for name in ["a", "b", "c", "d"] {
            intake.ingest(
                "lockstep/lab/\(name)/motion/accelerometer", BatchJSON.encode(IntakeTests.batch(at: 10)), &registry, 11)
        }
        intake.ingest("lockstep/lab/e/presence", Array(#"{"phase":"foreground"}"#.utf8), &registry, 11)
        // A known device is still accepted. An invalid message does not count towards the limit.
        intake.ingest("lockstep/lab/f/steps", Array("{".utf8), &registry, 11)
        intake.ingest("lockstep/lab/a/presence", Array(#"{"phase":"background"}"#.utf8), &registry, 11)
        #expect(intake.group.batches.map(\.device.device.rawValue) == ["a", "b", "c"])
        #expect(intake.group.rejected.map(\.reason).prefix(2) == [reason, reason])
        #expect(intake.group.rejected.count == 3 && intake.group.dropped.isEmpty)
        #expect(intake.group.seen.keys.map(\.device.rawValue) == ["a"])
    }

    @Test("a batch with too many samples is rejected")
    mutating func tooMany() {
        let columns = Array(repeating: Array(repeating: 1.0, count: 51), count: 3)
        let batch = Batch(
            position: nil, samples: SampleBlock(stream: .accelerometer, times: Array(1...51), columns: columns))
        intake.ingest(IntakeTests.topic, BatchJSON.encode(batch), &registry, 11)
        #expect(intake.group.rejected.map(\.reason) == ["the batch has 51 samples: the limit is 50"])
    }

    @Test("samples in the far future are rejected, and the agent keeps its batch")
    mutating func farFuture() {
        // The agent keeps the batch, because the collector's clock may be wrong.
        intake.ingest(IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 60)), &registry, 0)
        #expect(intake.group.rejected.isEmpty)
        _ = intake.takeGroup(&registry, at: moment(11))
        intake.ingest(IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 60.000_001)), &registry, 0)
        #expect(
            intake.group.rejected.map(\.reason)
                == [
                    "sample time \(time(60.000_001)) is in the future: "
                        + "check the clocks of the device and of the collector"
                ])
        #expect(intake.group.lifecycles.isEmpty && intake.group.batches.isEmpty)
        #expect(intake.group.dropped.isEmpty)
    }

    @Test("the sequence number of an invalid batch is recorded, so that the agent does not resend it forever")
    mutating func invalid() {
        intake.ingest(
            IntakeTests.topic, Array(#"{"epoch":"e1","seq":9,"t":1,"x":[null],"y":[1],"z":[1]}"#.utf8), &registry, 11)
        #expect(intake.group.rejected.map(\.reason) == ["'x' contains null"])
        #expect(intake.group.dropped == [DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet([9...9]))])
    }

    @Test("a batch in a newer format stays with the agent, which resends it after an upgrade")
    mutating func newer() {
        intake.ingest(IntakeTests.topic, Array(#"{"v":2,"epoch":"e1","seq":9}"#.utf8), &registry, 11)
        #expect(intake.group.rejected.count == 1)
        #expect(intake.group.dropped.isEmpty)
    }

    @Test("messages after a rejected message are accepted")
    mutating func nextMessages() {
        intake.ingest("lockstep", [0xff], &registry, 1)
        intake.ingest(IntakeTests.topic, [0xff], &registry, 2)
        intake.ingest(IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 3)), &registry, 3)
        #expect(intake.group.rejected.count == 2)
        #expect(intake.group.batches.count == 1)
    }
}
