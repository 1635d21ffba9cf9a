import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("The intake of batches")
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
    private var book = LifecycleBook([:], timing: .init(), at: moment(0))

    @Test("takes a good one, and lets it speak for its device")
    mutating func good() {
        let batch = Self.batch(at: 10)
        intake.take(Self.topic, BatchJSON.encode(batch), &book, 11)
        let group = intake.takeGroup(&book, at: moment(11))
        #expect(group.batches == [ReceivedBatch(device: device, batch: batch, receivedAt: time(11))])
        #expect(group.rejected.isEmpty && group.dropped.isEmpty && group.seen.isEmpty)
        #expect(group.transitions.map(\.transition.to) == [.active])
        #expect(group.transitions.map(\.transition.since) == [time(10)])
        #expect(group.lifecycles[device]?.evidenceTime == time(10))
        let rest = intake.takeGroup(&book, at: moment(11))
        #expect(rest.isEmpty)
    }

    @Test("gathers those of one device and stream, whether they are written as an agent does or not")
    mutating func gathering() throws {
        let batches = (1...4).map { Self.batch(at: Double(2 * $0), seq: Int64($0)) }
        for (number, batch) in batches.enumerated() {
            let text = String(decoding: BatchJSON.encode(batch), as: UTF8.self)
            let payload =
                number == 1
                ? Array(text.replacing(":", with: " : ").utf8)
                : number == 2 ? BatchCBOR.encode(batch) : Array(text.utf8)
            intake.take(Self.topic, payload, &book, 11)
        }
        intake.take("lockstep/lab/pi/motion/gyroscope", BatchJSON.encode(Self.batch(at: 9)), &book, 11)
        #expect(intake.waitingSamples == 10)
        let group = intake.takeGroup(&book, at: moment(11))
        #expect(group.runs.map(\.samples.stream) == [.accelerometer, .gyroscope])
        #expect(group.batches.prefix(4).map(\.batch) == batches)
        #expect(intake.waitingSamples == 0)
    }

    @Test("keeps the good ones beside one that is not")
    mutating func badAmongGood() {
        let good = [Self.batch(at: 10, seq: 1), Self.batch(at: 12, seq: 3)]
        intake.take(Self.topic, BatchJSON.encode(good[0]), &book, 11)
        intake.take(Self.topic, BatchJSON.encode(Self.batch(at: 99, seq: 2)), &book, 11)
        intake.take(Self.topic, Array(#"{"v":1,"epoch":"e1","seq":2,"t":1,"x":[1],"y":[1,2],"z":[1]}"#.utf8), &book, 11)
        intake.take(Self.topic, BatchJSON.encode(good[1]), &book, 11)
        #expect(intake.group.batches.map(\.batch) == good)
        #expect(intake.group.rejected.count == 2 && intake.waitingSamples == 4)
    }

    @Test("lets the newest of many live ones speak for its device")
    mutating func newest() {
        intake.take("lockstep/lab/pi/presence", PresenceJSON.encode(Self.foreground), &book, 1)
        for seconds in [10, 12, 11] {
            intake.take(Self.topic, BatchJSON.encode(Self.batch(at: Double(seconds))), &book, 13)
        }
        let group = intake.takeGroup(&book, at: moment(13))
        #expect(group.lifecycles[device]?.evidenceTime == time(12))
        #expect(group.transitions.map(\.transition.to) == [.active])
    }

    @Test("lets each word of a device count in its turn")
    mutating func turns() {
        let words: [(Double, Phase)] = [(1, .foreground), (14, .background), (16, .foreground)]
        for (seconds, phase) in words {
            let presence = Presence(epoch: epoch, session: 1, phase: phase, at: time(seconds))
            intake.take("lockstep/lab/pi/presence", PresenceJSON.encode(presence), &book, 20)
            for later in 1...3 {
                intake.take(Self.topic, BatchJSON.encode(Self.batch(at: seconds + Double(later) / 4)), &book, 20)
            }
        }
        let group = intake.takeGroup(&book, at: moment(20))
        #expect(group.transitions.map(\.transition.to) == [.active, .background, .resumed, .active])
        #expect(group.lifecycles[device]?.evidenceTime == time(16.75))
    }

    @Test("leads to what each word by itself would, in whatever order they come and groups are taken out")
    mutating func equivalence() {
        let seed = UInt64.random(in: 0...9999)
        var random = SeededGenerator(seed: seed, lane: 0, index: 0)
        var machine = LifecycleMachine(at: moment(0))
        var transitions: [LifecycleTransition] = []
        var told: [LifecycleTransition] = []
        var seconds = 1.0
        for _ in 0..<2000 {
            seconds += .random(in: 0...0.3, using: &random)
            // Late, or before its time.
            let said = seconds + .random(in: -0.5...0.2, using: &random)
            let event: LifecycleMachine.Event
            if Int.random(in: 0..<10, using: &random) > 0 {
                event = live(said)
                intake.take(Self.topic, BatchJSON.encode(Self.batch(at: said)), &book, seconds)
            } else {
                let phase = Phase.allCases.randomElement(using: &random) ?? .foreground
                event = presence(phase, said)
                let payload = PresenceJSON.encode(Presence(epoch: epoch, session: 1, phase: phase, at: time(said)))
                intake.take("lockstep/lab/pi/presence", payload, &book, seconds)
            }
            if let transition = machine.handle(event, at: moment(seconds)) { transitions.append(transition) }
            guard Int.random(in: 0..<8, using: &random) == 0 else { continue }
            let group = intake.takeGroup(&book, at: moment(seconds))
            book.commit()
            told += group.transitions.map(\.transition)
            if let snapshot = group.lifecycles[device] { #expect(snapshot == machine.snapshot, "seed \(seed)") }
        }
        told += intake.takeGroup(&book, at: moment(seconds)).transitions.map(\.transition)
        #expect(told == transitions && transitions.count > 100, "seed \(seed)")
    }

    @Test("forgets a group that could not be written, with what it said of its devices")
    mutating func discarding() {
        for seconds in [10.0, 12, 14] {
            intake.take(Self.topic, BatchJSON.encode(Self.batch(at: seconds)), &book, 15)
        }
        book.rollback()
        intake.discard()
        #expect(intake.group.isEmpty && intake.waitingSamples == 0)
        #expect(intake.takeGroup(&book, at: moment(15)).isEmpty)
        intake.take(Self.topic, BatchJSON.encode(Self.batch(at: 10)), &book, 15)
        #expect(intake.takeGroup(&book, at: moment(15)).transitions.map(\.transition.to) == [.active])
    }

    private static let foreground = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(1))

    @Test("stores backlog, which changes no state")
    mutating func backlog() {
        let batch = Self.batch(at: 10, isLive: false)
        intake.take(Self.topic, BatchJSON.encode(batch), &book, 11)
        #expect(intake.group.batches.map(\.batch) == [batch])
        #expect(intake.group.lifecycles.isEmpty && intake.group.transitions.isEmpty)
    }

    @Test("stores a retained one, which is not live: it may be of any age")
    mutating func retained() {
        intake.take(Self.topic, BatchJSON.encode(Self.batch(at: 10)), isRetained: true, &book, 11)
        #expect(intake.group.batches.count == 1)
        #expect(intake.group.lifecycles.isEmpty && intake.group.transitions.isEmpty)
    }

    @Test("passes over an empty retained one: so MQTT clears a topic")
    mutating func cleared() {
        intake.take(Self.topic, [], isRetained: true, &book, 11)
        intake.take("lockstep/lab/pi/presence", [], isRetained: true, &book, 11)
        #expect(intake.group.isEmpty)
    }

    @Test("takes one of a device that numbers nothing")
    mutating func unnumbered() {
        intake.take(Self.topic, BatchJSON.encode(Self.batch(at: 10, seq: nil)), &book, 11)
        #expect(intake.group.batches.first?.batch.position == nil)
        #expect(intake.group.transitions.count == 1)
    }

    @Test(
        "passes over what collectors say and what agents are asked",
        arguments: [
            "state", "ack", "command", "command/reply", "clock/ping", "clock/pong",
        ])
    mutating func otherChannels(_ channel: String) {
        intake.take("lockstep/lab/pi/\(channel)", Array("{}".utf8), &book, 11)
        intake.take("lockstep/lab/$collector/main", Array("{}".utf8), &book, 11)
        #expect(intake.group.isEmpty)
    }

    @Test("lets time pass for the life cycles")
    mutating func ticks() {
        intake.take(Self.topic, BatchJSON.encode(Self.batch(at: 10)), &book, 10)
        _ = intake.takeGroup(&book, at: moment(11))
        book.commit()
        intake.tick(&book, at: moment(85))
        #expect(intake.group.transitions.map(\.transition.reason) == ["silent"])
    }
}

@Suite("What the intake rejects")
struct RejectionTests {
    private var intake = Intake.standard
    private var book = LifecycleBook([:], timing: .init(), at: moment(0))

    @Test(
        "is kept with its topic, reason, size and first bytes",
        arguments: [
            (
                "lockstep/lab/pi/steps", "{",
                "not valid JSON (JSON has no NaN or Infinity: use null for an unknown value)"
            ),
            (
                "lockstep/lab/pi/steps", "",
                "not valid JSON (JSON has no NaN or Infinity: use null for an unknown value)"
            ),
            (IntakeTests.topic, #"{"t":1,"x":[1],"y":[1]}"#, "'z' is missing"),
            ("lockstep/lab/pi/presence", "{}", "'phase' is missing"),
            ("lockstep/lab/pi/nonsense", "x", "'nonsense' is not a channel (note that a device id cannot contain '/')"),
            ("lockstep/lab/a/b/steps", "x", "'b/steps' is not a channel (note that a device id cannot contain '/')"),
            ("lockstep/lab/p i/steps", "x", "'p i' is not a device id: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
            ("other/lab/pi/steps", "x", "the topic is not below 'lockstep/'"),
        ])
    mutating func reasons(_ topic: String, _ payload: String, _ reason: String) {
        intake.take(topic, Array(payload.utf8), &book, 11)
        let group = intake.takeGroup(&book, at: moment(11))
        #expect(
            group.rejected == [
                RejectedMessage(
                    at: time(11), topic: topic, reason: reason, size: payload.utf8.count, head: Array(payload.utf8))
            ])
        #expect(group.batches.isEmpty && group.lifecycles.isEmpty && group.dropped.isEmpty && group.seen.isEmpty)
    }

    @Test("where it has too many bytes, keeps 256 of them", arguments: [IntakeTests.topic, "lockstep/lab/pi/presence"])
    mutating func tooLarge(_ topic: String) {
        intake.take(topic, Array(repeating: UInt8(ascii: " "), count: 2001), &book, 11)
        #expect(intake.group.rejected.map(\.reason) == ["2001 bytes: a payload has at most 2000"])
        #expect(intake.group.rejected.map(\.size) == [2001])
        #expect(intake.group.rejected.map(\.head.count) == [256])
    }

    @Test("where its reason quotes much of it, keeps a part of the reason")
    mutating func longReason() {
        let accents = String(repeating: "\u{301}", count: 900)
        let payload = #"{"t":1,"x":[1],"y":[1],"z":[1],"epoch":"a\#(accents)","seq":1}"#
        intake.take(IntakeTests.topic, Array(payload.utf8), &book, 11)
        #expect(intake.group.rejected.count == 1)
        #expect((900...1010).contains(intake.group.rejected.first?.reason.utf8.count ?? 0))
    }

    @Test("where it is of one device too many, and is not given up: the limit may be raised")
    mutating func tooManyDevices() {
        let reason = "a new device, and there are 3 already: raise the collector's --max-devices if it is meant to be"
        for name in ["a", "b", "c", "d"] {
            intake.take(
                "lockstep/lab/\(name)/motion/accelerometer", BatchJSON.encode(IntakeTests.batch(at: 10)), &book, 11)
        }
        intake.take("lockstep/lab/e/presence", Array(#"{"phase":"foreground"}"#.utf8), &book, 11)
        // One that is known goes on, and one that says nothing sensible takes nobody's place.
        intake.take("lockstep/lab/f/steps", Array("{".utf8), &book, 11)
        intake.take("lockstep/lab/a/presence", Array(#"{"phase":"background"}"#.utf8), &book, 11)
        #expect(intake.group.batches.map(\.device.device.rawValue) == ["a", "b", "c"])
        #expect(intake.group.rejected.map(\.reason).prefix(2) == [reason, reason])
        #expect(intake.group.rejected.count == 3 && intake.group.dropped.isEmpty)
        #expect(intake.group.seen.keys.map(\.device.rawValue) == ["a"])
    }

    @Test("where it has too many samples")
    mutating func tooMany() {
        let columns = Array(repeating: Array(repeating: 1.0, count: 51), count: 3)
        let batch = Batch(
            position: nil, samples: SampleBlock(stream: .accelerometer, times: Array(1...51), columns: columns))
        intake.take(IntakeTests.topic, BatchJSON.encode(batch), &book, 11)
        #expect(intake.group.rejected.map(\.reason) == ["51 samples: a batch has at most 50"])
    }

    @Test("where it lies far in the future, and is not given up: the collector's own clock may be wrong")
    mutating func farFuture() {
        intake.take(IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 60)), &book, 0)
        #expect(intake.group.rejected.isEmpty)
        _ = intake.takeGroup(&book, at: moment(11))
        intake.take(IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 60.000_001)), &book, 0)
        #expect(
            intake.group.rejected.map(\.reason)
                == [
                    "its time \(time(60.000_001)) is in the future: "
                        + "are the clocks of the device and of this collector right?"
                ])
        #expect(intake.group.lifecycles.isEmpty && intake.group.batches.isEmpty)
        #expect(intake.group.dropped.isEmpty)
    }

    @Test("and is numbered is noted as never to come, or the agent would send it for ever")
    mutating func numbered() {
        intake.take(
            IntakeTests.topic, Array(#"{"epoch":"e1","seq":9,"t":1,"x":[null],"y":[1],"z":[1]}"#.utf8), &book, 11)
        #expect(intake.group.rejected.map(\.reason) == ["'x' has a null"])
        #expect(intake.group.dropped == [DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet([9...9]))])
    }

    @Test("because a newer program wrote it is not given up: it will be sent again after an upgrade")
    mutating func newer() {
        intake.take(IntakeTests.topic, Array(#"{"v":2,"epoch":"e1","seq":9}"#.utf8), &book, 11)
        #expect(intake.group.rejected.count == 1)
        #expect(intake.group.dropped.isEmpty)
    }

    @Test("never stops what comes after it")
    mutating func goingOn() {
        intake.take("lockstep", [0xff], &book, 1)
        intake.take(IntakeTests.topic, [0xff], &book, 2)
        intake.take(IntakeTests.topic, BatchJSON.encode(IntakeTests.batch(at: 3)), &book, 3)
        #expect(intake.group.rejected.count == 2)
        #expect(intake.group.batches.count == 1)
    }
}

@Suite("The intake of presences")
struct PresenceIntakeTests {
    private static let topic = "lockstep/lab/pi/presence"
    private var intake = Intake.standard
    private var book = LifecycleBook([:], timing: .init(), at: moment(0))

    private mutating func take(_ presence: Presence, isRetained: Bool = false) -> IngestGroup {
        intake.take(Self.topic, PresenceJSON.encode(presence), isRetained: isRetained, &book, 11)
        return intake.takeGroup(&book, at: moment(11))
    }

    @Test("lets them decide the life cycle, retained ones too", arguments: [true, false])
    mutating func lifecycle(_ isRetained: Bool) {
        let group = take(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10)), isRetained: isRetained)
        #expect(group.transitions.map(\.transition.to) == [.active])
        #expect(group.lifecycles[device]?.session == 1)
        #expect(group.seen == [device: time(11)])
        #expect(group.rejected.isEmpty && group.dropped.isEmpty)
    }

    @Test("lets a heartbeat wait that changes nothing, and nothing else")
    mutating func waiting() {
        let first = take(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9)))
        #expect(!first.canWait)
        let heartbeat = take(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10)))
        #expect(heartbeat.canWait && heartbeat.lifecycles[device]?.evidenceTime == time(10))
        #expect(!take(Presence(epoch: epoch, session: 1, phase: .background, at: time(11))).canWait)
        #expect(!IngestGroup(dropped: [DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet())]).canWait)
    }

    @Test(
        "lets no word wait that says something new, though the state stays the same",
        arguments: [(1, .background), (2, .lost), (2, .background)] as [(Int64, Phase)])
    mutating func newWithoutTransition(session: Int64, phase: Phase) {
        _ = take(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9)))
        let lost = take(Presence(epoch: epoch, session: 1, phase: .lost, at: time(9)))
        #expect(lost.transitions.map(\.transition.to) == [.background])
        let word = take(Presence(epoch: epoch, session: session, phase: phase, at: time(10)))
        #expect(word.transitions.isEmpty && !word.canWait)
    }

    @Test("does not take a will for a sign of life")
    mutating func will() {
        let group = take(Presence(epoch: epoch, session: 1, phase: .lost, at: time(10)))
        #expect(group.seen.isEmpty)
        #expect(group.transitions.map(\.transition.to) == [.background])
    }

    @Test("notes which batches the agent had to drop")
    mutating func dropped() {
        let said = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), dropped: [1...4, 9...9])
        #expect(
            take(said).dropped == [DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet([1...4, 9...9]))])
        var without = said
        without.epoch = nil
        let group = take(without)
        #expect(group.dropped.isEmpty)
    }

    @Test("counts the samples that agents had to drop, each agent's last word")
    mutating func droppedSamples() {
        #expect(intake.dropped == 0)
        _ = take(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), droppedSamples: 5))
        _ = take(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(11), droppedSamples: 8))
        _ = take(Presence(epoch: epoch, session: 1, phase: .lost, at: time(11)))
        #expect(intake.dropped == 8)
    }

    @Test("counts as far as numbers go what many claim to have dropped")
    mutating func absurdlyDropped() {
        let most: Int64 = 1 << 53 - 1
        // As many as make more than 64 bits hold.
        intake = Intake(root: .standard, limits: PayloadLimits(), maximumFuture: 0, maximumDevices: 5000, devices: [])
        for number in 0..<2100 {
            let said = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), droppedSamples: most)
            intake.take("lockstep/lab/d\(number)/presence", PresenceJSON.encode(said), &book, 10)
        }
        #expect(intake.dropped == .max)
    }
}
