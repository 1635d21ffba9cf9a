import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Ingest of batches")
struct IntakeTests {
    static let topic = "lockstep/lab/pi/motion/accelerometer"

    static func batch(at seconds: Double, seq: Int64? = 7, isLive: Bool = true) -> Batch {
        Batch(
            position: seq.map { BatchPosition(epoch: epoch, seq: $0) }, isLive: isLive,
            samples: SampleBlock(
                stream: .accelerometer, times: [time(seconds - 1).microseconds, time(seconds).microseconds],
                columns: [[1, 2], [3, 4], [5, 6]]))
    }

    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    @Test("a valid batch is added to the group and activates its device")
    mutating func good() {
        let batch = Self.batch(at: 10)
        intake.ingest(Self.topic, BatchJSON.encode(batch), &registry, 11)
        let group = intake.takeGroup(&registry, at: moment(11))
        #expect(group.batches == [ReceivedBatch(device: device, batch: batch, receivedAt: time(11))])
        #expect(group.rejected.isEmpty && group.dropped.isEmpty && group.seen.isEmpty)
        #expect(group.transitions.map(\.transition.to) == [.active])
        #expect(group.transitions.map(\.transition.since) == [time(10)])
        #expect(group.lifecycles[device]?.evidenceTime == time(10))
        let rest = intake.takeGroup(&registry, at: moment(11))
        #expect(rest.isEmpty)
    }

    @Test("batches of one device and stream share a run, in whatever encoding")
    mutating func sharedRun() throws {
        let batches = (1...4).map { Self.batch(at: Double(2 * $0), seq: Int64($0)) }
        for (number, batch) in batches.enumerated() {
            let text = String(decoding: BatchJSON.encode(batch), as: UTF8.self)
            let payload =
                number == 1
                ? Array(text.replacing(":", with: " : ").utf8)
                : number == 2 ? BatchCBOR.encode(batch) : Array(text.utf8)
            intake.ingest(Self.topic, payload, &registry, 11)
        }
        intake.ingest("lockstep/lab/pi/motion/gyroscope", BatchJSON.encode(Self.batch(at: 9)), &registry, 11)
        #expect(intake.pendingSamples == 10)
        let group = intake.takeGroup(&registry, at: moment(11))
        #expect(group.runs.map(\.samples.stream) == [.accelerometer, .gyroscope])
        #expect(group.batches.prefix(4).map(\.batch) == batches)
        #expect(intake.pendingSamples == 0)
    }

    @Test("a rejected batch does not affect the batches around it")
    mutating func badAmongGood() {
        let good = [Self.batch(at: 10, seq: 1), Self.batch(at: 12, seq: 3)]
        intake.ingest(Self.topic, BatchJSON.encode(good[0]), &registry, 11)
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 99, seq: 2)), &registry, 11)
        intake.ingest(
            Self.topic, Array(#"{"v":1,"epoch":"e1","seq":2,"t":1,"x":[1],"y":[1,2],"z":[1]}"#.utf8), &registry, 11)
        intake.ingest(Self.topic, BatchJSON.encode(good[1]), &registry, 11)
        #expect(intake.group.batches.map(\.batch) == good)
        #expect(intake.group.rejected.count == 2 && intake.pendingSamples == 4)
    }

    @Test("the newest of many live batches is the evidence for the state")
    mutating func newest() {
        intake.ingest("lockstep/lab/pi/presence", PresenceJSON.encode(Self.foreground), &registry, 1)
        for seconds in [10, 12, 11] {
            intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: Double(seconds))), &registry, 13)
        }
        let group = intake.takeGroup(&registry, at: moment(13))
        #expect(group.lifecycles[device]?.evidenceTime == time(12))
        #expect(group.transitions.map(\.transition.to) == [.active])
    }

    @Test("presence messages and batches of one group take effect in their order")
    mutating func turns() {
        let messages: [(Double, Phase)] = [(1, .foreground), (14, .background), (16, .foreground)]
        for (seconds, phase) in messages {
            let presence = Presence(epoch: epoch, session: 1, phase: phase, at: time(seconds))
            intake.ingest("lockstep/lab/pi/presence", PresenceJSON.encode(presence), &registry, 20)
            for later in 1...3 {
                intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: seconds + Double(later) / 4)), &registry, 20)
            }
        }
        let group = intake.takeGroup(&registry, at: moment(20))
        #expect(group.transitions.map(\.transition.to) == [.active, .background, .resumed, .active])
        #expect(group.lifecycles[device]?.evidenceTime == time(16.75))
    }

    @Test("the transitions equal those of a life cycle that receives every message at once, in any order and grouping")
    mutating func equivalence() {
        let seed = UInt64.random(in: 0...9999)
        var random = SeededGenerator(seed: seed, lane: 0, index: 0)
        var machine = LifecycleMachine(at: moment(0))
        var transitions: [LifecycleTransition] = []
        var reported: [LifecycleTransition] = []
        var seconds = 1.0
        for _ in 0..<2000 {
            seconds += .random(in: 0...0.3, using: &random)
            // Late or early.
            let sentAt = seconds + .random(in: -0.5...0.2, using: &random)
            let event: LifecycleMachine.Event
            if Int.random(in: 0..<10, using: &random) > 0 {
                event = live(sentAt)
                intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: sentAt)), &registry, seconds)
            } else {
                let phase = Phase.allCases.randomElement(using: &random) ?? .foreground
                event = presence(phase, sentAt)
                let payload = PresenceJSON.encode(Presence(epoch: epoch, session: 1, phase: phase, at: time(sentAt)))
                intake.ingest("lockstep/lab/pi/presence", payload, &registry, seconds)
            }
            if let transition = machine.handle(event, at: moment(seconds)) { transitions.append(transition) }
            guard Int.random(in: 0..<8, using: &random) == 0 else { continue }
            let group = intake.takeGroup(&registry, at: moment(seconds))
            registry.commit()
            reported += group.transitions.map(\.transition)
            if let snapshot = group.lifecycles[device] { #expect(snapshot == machine.snapshot, "seed \(seed)") }
        }
        reported += intake.takeGroup(&registry, at: moment(seconds)).transitions.map(\.transition)
        #expect(reported == transitions && transitions.count > 100, "seed \(seed)")
    }

    @Test("a discarded group leaves no trace in the life cycles")
    mutating func discarding() {
        for seconds in [10.0, 12, 14] {
            intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: seconds)), &registry, 15)
        }
        registry.rollback()
        intake.discardGroup()
        #expect(intake.group.isEmpty && intake.pendingSamples == 0)
        #expect(intake.takeGroup(&registry, at: moment(15)).isEmpty)
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 10)), &registry, 15)
        #expect(intake.takeGroup(&registry, at: moment(15)).transitions.map(\.transition.to) == [.active])
    }

    private static let foreground = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(1))

    @Test("backlog is stored and does not change the state")
    mutating func backlog() {
        let batch = Self.batch(at: 10, isLive: false)
        intake.ingest(Self.topic, BatchJSON.encode(batch), &registry, 11)
        #expect(intake.group.batches.map(\.batch) == [batch])
        #expect(intake.group.lifecycles.isEmpty && intake.group.transitions.isEmpty)
    }

    @Test("a retained batch is stored and does not change the state, because it may be old")
    mutating func retained() {
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 10)), isRetained: true, &registry, 11)
        #expect(intake.group.batches.count == 1)
        #expect(intake.group.lifecycles.isEmpty && intake.group.transitions.isEmpty)
    }

    @Test("an empty retained message, which clears a topic, is ignored")
    mutating func cleared() {
        intake.ingest(Self.topic, [], isRetained: true, &registry, 11)
        intake.ingest("lockstep/lab/pi/presence", [], isRetained: true, &registry, 11)
        #expect(intake.group.isEmpty)
    }

    @Test("a batch without a sequence number is stored")
    mutating func unnumbered() {
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 10, seq: nil)), &registry, 11)
        #expect(intake.group.batches.first?.batch.position == nil)
        #expect(intake.group.transitions.count == 1)
    }

    @Test(
        "messages of collectors and commands to agents are ignored",
        arguments: [
            "state", "ack", "command", "command/reply", "clock/ping", "clock/pong",
        ])
    mutating func otherChannels(_ channel: String) {
        intake.ingest("lockstep/lab/pi/\(channel)", Array("{}".utf8), &registry, 11)
        intake.ingest("lockstep/lab/$collector/main", Array("{}".utf8), &registry, 11)
        #expect(intake.group.isEmpty)
    }

    @Test("a tick advances the life cycles")
    mutating func ticks() {
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 10)), &registry, 10)
        _ = intake.takeGroup(&registry, at: moment(11))
        registry.commit()
        intake.tick(&registry, at: moment(85))
        #expect(intake.group.transitions.map(\.transition.reason) == ["silent"])
    }
}

@Suite("Rejection of messages")
struct RejectionTests {
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    @Test(
        "a rejected message is kept with its topic, reason, size and first bytes",
        arguments: [
            (
                "lockstep/lab/pi/steps", "{",
                "not valid JSON (which has no NaN and no Infinity: an unknown value is null)"
            ),
            (
                "lockstep/lab/pi/steps", "",
                "not valid JSON (which has no NaN and no Infinity: an unknown value is null)"
            ),
            (IntakeTests.topic, #"{"t":1,"x":[1],"y":[1]}"#, "'z' is missing"),
            ("lockstep/lab/pi/presence", "{}", "'phase' is missing"),
            ("lockstep/lab/pi/nonsense", "x", "'nonsense' is no channel (and a device id can't have a '/')"),
            ("lockstep/lab/a/b/steps", "x", "'b/steps' is no channel (and a device id can't have a '/')"),
            ("lockstep/lab/p i/steps", "x", "'p i' is not a device id: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
            ("other/lab/pi/steps", "x", "the topic is not below 'lockstep/'"),
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
        "a payload that is too large is rejected, and 256 bytes of it are kept",
        arguments: [IntakeTests.topic, "lockstep/lab/pi/presence"])
    mutating func tooLarge(_ topic: String) {
        intake.ingest(topic, Array(repeating: UInt8(ascii: " "), count: 2001), &registry, 11)
        #expect(intake.group.rejected.map(\.reason) == ["2001 bytes: a payload has at most 2000"])
        #expect(intake.group.rejected.map(\.size) == [2001])
        #expect(intake.group.rejected.map(\.head.count) == [256])
    }

    @Test("a long reason is truncated")
    mutating func longReason() {
        let accents = String(repeating: "\u{301}", count: 900)
        let payload = #"{"t":1,"x":[1],"y":[1],"z":[1],"epoch":"a\#(accents)","seq":1}"#
        intake.ingest(IntakeTests.topic, Array(payload.utf8), &registry, 11)
        #expect(intake.group.rejected.count == 1)
        #expect((900...1010).contains(intake.group.rejected.first?.reason.utf8.count ?? 0))
    }

    @Test("messages of a device beyond the limit are rejected, and the agent keeps its batches")
    mutating func tooManyDevices() {
        let reason = "too many devices: the limit of 3 is reached; raise the collector's --max-devices to accept more"
        for name in ["a", "b", "c", "d"] {
            intake.ingest(
                "lockstep/lab/\(name)/motion/accelerometer", BatchJSON.encode(IntakeTests.batch(at: 10)), &registry, 11)
        }
        intake.ingest("lockstep/lab/e/presence", Array(#"{"phase":"foreground"}"#.utf8), &registry, 11)
        // A known device is still accepted. An invalid message does not use up the limit.
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
        #expect(intake.group.rejected.map(\.reason) == ["51 samples: a batch has at most 50"])
    }

    @Test(
        "samples in the far future are rejected, and the agent keeps its batch because the collector's clock may be wrong"
    )
    mutating func farFuture() {
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
    mutating func numbered() {
        intake.ingest(
            IntakeTests.topic, Array(#"{"epoch":"e1","seq":9,"t":1,"x":[null],"y":[1],"z":[1]}"#.utf8), &registry, 11)
        #expect(intake.group.rejected.map(\.reason) == ["'x' has a null"])
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

@Suite("Ingest of presence messages")
struct PresenceIntakeTests {
    private static let topic = "lockstep/lab/pi/presence"
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    private mutating func ingest(_ presence: Presence, isRetained: Bool = false) -> IngestGroup {
        intake.ingest(Self.topic, PresenceJSON.encode(presence), isRetained: isRetained, &registry, 11)
        return intake.takeGroup(&registry, at: moment(11))
    }

    @Test("a presence message changes the life cycle, even a retained one", arguments: [true, false])
    mutating func lifecycle(_ isRetained: Bool) {
        let group = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10)), isRetained: isRetained)
        #expect(group.transitions.map(\.transition.to) == [.active])
        #expect(group.lifecycles[device]?.session == 1)
        #expect(group.seen == [device: time(11)])
        #expect(group.rejected.isEmpty && group.dropped.isEmpty)
    }

    @Test("a heartbeat without changes is the only message that can wait for a commit")
    mutating func deferrable() {
        let first = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9)))
        #expect(!first.canWait)
        let heartbeat = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10)))
        #expect(heartbeat.canWait && heartbeat.lifecycles[device]?.evidenceTime == time(10))
        #expect(!ingest(Presence(epoch: epoch, session: 1, phase: .background, at: time(11))).canWait)
        #expect(!IngestGroup(dropped: [DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet())]).canWait)
    }

    @Test(
        "a message with new information can't wait, even if the state stays the same",
        arguments: [(1, .background), (2, .lost), (2, .background)] as [(Int64, Phase)])
    mutating func newWithoutTransition(session: Int64, phase: Phase) {
        _ = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9)))
        let lost = ingest(Presence(epoch: epoch, session: 1, phase: .lost, at: time(9)))
        #expect(lost.transitions.map(\.transition.to) == [.background])
        let next = ingest(Presence(epoch: epoch, session: session, phase: phase, at: time(10)))
        #expect(next.transitions.isEmpty && !next.canWait)
    }

    @Test("a last will is no sign of life")
    mutating func will() {
        let group = ingest(Presence(epoch: epoch, session: 1, phase: .lost, at: time(10)))
        #expect(group.seen.isEmpty)
        #expect(group.transitions.map(\.transition.to) == [.background])
    }

    @Test("the batches that an agent dropped are recorded")
    mutating func dropped() {
        let message = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), dropped: [1...4, 9...9])
        #expect(
            ingest(message).dropped == [
                DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet([1...4, 9...9]))
            ])
        var without = message
        without.epoch = nil
        let group = ingest(without)
        #expect(group.dropped.isEmpty)
    }

    @Test("the number of dropped samples is the last one that each agent reported")
    mutating func droppedSamples() {
        #expect(intake.dropped == 0)
        _ = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), droppedSamples: 5))
        _ = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(11), droppedSamples: 8))
        _ = ingest(Presence(epoch: epoch, session: 1, phase: .lost, at: time(11)))
        #expect(intake.dropped == 8)
    }

    @Test("the sum of dropped samples saturates instead of overflowing")
    mutating func absurdlyDropped() {
        let maximum: Int64 = 1 << 53 - 1
        // The sum exceeds 64 bits.
        intake = Intake(root: .standard, limits: PayloadLimits(), maximumFuture: 0, maximumDevices: 5000, devices: [])
        for number in 0..<2100 {
            let message = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), droppedSamples: maximum)
            intake.ingest("lockstep/lab/d\(number)/presence", PresenceJSON.encode(message), &registry, 10)
        }
        #expect(intake.dropped == .max)
    }
}
