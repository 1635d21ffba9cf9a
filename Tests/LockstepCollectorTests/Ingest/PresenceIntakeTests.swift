import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

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

    @Test("what a device reports of its outbox is kept, but not from a last will or a retained presence")
    mutating func report() {
        let pending = [epoch: SequenceSet([3...7])]
        var presence = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9), seq: 7, pending: pending)
        let key = DeviceEpoch(device: device, epoch: epoch)
        #expect(ingest(presence).reports == [key: OutboxReport(epoch: epoch, seq: 7, pending: pending)])
        #expect(ingest(presence, isRetained: true).reports.isEmpty)
        presence.phase = .lost
        #expect(ingest(presence).reports.count == 1, "of a gateway")
        presence.seq = nil
        #expect(ingest(presence).reports.isEmpty)
    }

    @Test("the calibration in a presence becomes part of a session, and a last will does not remove it")
    mutating func calibration() {
        let key = RecordingSession.Key(group: device.group, id: SessionID(unchecked: "walk"))
        var session = RecordingSession(key: key, name: "walk", created: time(1))
        session.devices[device.device] = .init(joined: time(1))
        intake.sessions = SessionRegistry([session], at: moment(2))
        let calibration = InertialCalibration(
            time: time(0), matrix: InertialCalibration.identity, offset: [0.08, 0, 0], positions: 9, errorBefore: 0.08,
            errorAfter: 0.001)
        let presence = Presence(
            epoch: epoch, session: 1, phase: .foreground, at: time(9), calibration: calibration)
        let stored = ingest(presence).sessions.first?.devices[device.device]?.calibration
        #expect(stored == String(decoding: CalibrationJSON.encode(calibration), as: UTF8.self))
        _ = ingest(Presence(epoch: epoch, session: 1, phase: .lost, at: time(9)))
        #expect(intake.sessions[key]?.devices[device.device]?.calibration == stored)
    }

    @Test("only a heartbeat without changes can wait for a commit")
    mutating func deferrable() {
        let first = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9)))
        #expect(!first.isDeferrable)
        let heartbeat = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10)))
        #expect(heartbeat.isDeferrable && heartbeat.evidenceTime(of: device) == time(10))
        #expect(!ingest(Presence(epoch: epoch, session: 1, phase: .background, at: time(11))).isDeferrable)
        #expect(
            !IngestGroup(dropped: [DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet())]).isDeferrable)
    }

    @Test(
        "a message with new information cannot wait, even if the state stays the same",
        arguments: [(1, .background), (2, .lost), (2, .background)] as [(Int64, Phase)])
    mutating func newWithoutTransition(session: Int64, phase: Phase) {
        _ = ingest(Presence(epoch: epoch, session: 1, phase: .foreground, at: time(9)))
        let lost = ingest(Presence(epoch: epoch, session: 1, phase: .lost, at: time(9)))
        #expect(lost.transitions.map(\.transition.to) == [.background])
        let next = ingest(Presence(epoch: epoch, session: session, phase: phase, at: time(10)))
        #expect(next.transitions.isEmpty && !next.isDeferrable)
    }

    @Test("the estimates against this collector's clock are kept, without those of the far future")
    mutating func clock() {
        let points = [("main", 10), ("second", 10), ("main", 1_000_000)].map { (collector: String, seconds: Double) in
            ClockPoint(
                collector: CollectorID(unchecked: collector), time: time(seconds), segment: time(1), offset: 5, skew: 0,
                bound: 1, skewBound: 1)
        }
        let presence = Presence(
            epoch: epoch, session: 1, phase: .foreground, at: time(10), clock: ClockReport(points: points))
        intake.collector = CollectorID(unchecked: "main")
        #expect(ingest(presence).clocks == [DeviceClock(device: device, epoch: epoch, point: points[0])])
        intake.collector = CollectorID(unchecked: "third")
        #expect(ingest(presence).clocks.isEmpty)
        var anonymous = presence
        anonymous.epoch = nil
        intake.collector = nil
        #expect(ingest(anonymous).clocks.isEmpty)
    }

    @Test("a last will does not count as a message of the device")
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
    mutating func saturation() {
        let maximum: Int64 = 1 << 53 - 1
        // The sum exceeds 64 bits.
        intake = Intake(scope: .standard, limits: PayloadLimits(), maxFuture: 0, maxDevices: 5000, devices: [])
        for number in 0..<2100 {
            let message = Presence(epoch: epoch, session: 1, phase: .foreground, at: time(10), droppedSamples: maximum)
            intake.ingest("lockstep/lab/d\(number)/presence", PresenceJSON.encode(message), &registry, 10)
        }
        #expect(intake.dropped == .max)
    }
}
