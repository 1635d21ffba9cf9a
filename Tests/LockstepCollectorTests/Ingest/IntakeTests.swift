import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepWire
import SensorTestSupport
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
    mutating func validBatch() {
        let batch = Self.batch(at: 10)
        intake.ingest(Self.topic, BatchJSON.encode(batch), &registry, 11)
        let group = intake.takeGroup(&registry, at: moment(11))
        #expect(group.batches == [ReceivedBatch(device: device, batch: batch, receivedAt: time(11))])
        #expect(group.rejected.isEmpty && group.dropped.isEmpty && group.seen.isEmpty)
        #expect(group.transitions.map(\.transition.to) == [.active])
        #expect(group.transitions.map(\.transition.since) == [time(10)])
        #expect(group.evidenceTime(of: device) == time(10))
        let rest = intake.takeGroup(&registry, at: moment(11))
        #expect(rest.isEmpty)
    }

    @Test("batches of one device and stream share a run, in any encoding")
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
    mutating func rejectedBatch() {
        let valid = [Self.batch(at: 10, seq: 1), Self.batch(at: 12, seq: 3)]
        intake.ingest(Self.topic, BatchJSON.encode(valid[0]), &registry, 11)
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 99, seq: 2)), &registry, 11)
        intake.ingest(
            Self.topic, Array(#"{"v":1,"epoch":"e1","seq":2,"t":1,"x":[1],"y":[1,2],"z":[1]}"#.utf8), &registry, 11)
        intake.ingest(Self.topic, BatchJSON.encode(valid[1]), &registry, 11)
        #expect(intake.group.batches.map(\.batch) == valid)
        #expect(intake.group.rejected.count == 2 && intake.pendingSamples == 4)
    }

    @Test("the newest of many live batches sets the evidence time")
    mutating func newest() {
        intake.ingest("lockstep/lab/pi/presence", PresenceJSON.encode(Self.foreground), &registry, 1)
        for seconds in [10, 12, 11] {
            intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: Double(seconds))), &registry, 13)
        }
        let group = intake.takeGroup(&registry, at: moment(13))
        #expect(group.evidenceTime(of: device) == time(12))
        #expect(group.transitions.map(\.transition.to) == [.active])
    }

    @Test("presence messages and batches of one group take effect in order of arrival")
    mutating func order() {
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
        #expect(group.evidenceTime(of: device) == time(16.75))
    }

    @Test(
        "the transitions equal those of a life cycle that receives each message individually, in any order and grouping"
    )
    mutating func equivalence() {
        var (random, seed) = seeded("intake")
        var machine = LifecycleMachine(at: moment(0))
        var transitions: [LifecycleTransition] = []
        var reported: [LifecycleTransition] = []
        var seconds = 1.0
        for _ in 0..<2000 {
            seconds += .random(in: 0...0.3, using: &random)
            // The timestamp may be late or early.
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
            if let snapshot = group.lifecycles[device] {
                #expect(snapshot == machine.snapshot, "seed \(seed)")
            } else if let time = group.evidenceTime(of: device) {
                #expect(time == machine.snapshot.evidenceTime, "seed \(seed)")
            }
        }
        reported += intake.takeGroup(&registry, at: moment(seconds)).transitions.map(\.transition)
        #expect(reported == transitions && transitions.count > 100, "seed \(seed)")
    }

    @Test("a discarded group does not affect the life cycles")
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
        #expect(
            intake.group.lifecycles.isEmpty && intake.group.evidence.isEmpty
                && intake.group.transitions.isEmpty)
    }

    @Test("a retained batch is stored and does not change the state, because it may be old")
    mutating func retained() {
        intake.ingest(Self.topic, BatchJSON.encode(Self.batch(at: 10)), isRetained: true, &registry, 11)
        #expect(intake.group.batches.count == 1)
        #expect(
            intake.group.lifecycles.isEmpty && intake.group.evidence.isEmpty
                && intake.group.transitions.isEmpty)
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
