import LockstepModel
import LockstepStore
import LockstepWire
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Forgotten devices")
struct ForgottenDeviceTests {
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))
    private static let topic = "lockstep/lab/pi/motion/accelerometer"

    /// Lets the device send a batch, and end; then forgets it.
    private mutating func forgetDevice() {
        intake.ingest(Self.topic, BatchJSON.encode(IntakeTests.batch(at: 1)), &registry, 1)
        ingestPresence(.terminated, 2)
        ingestRequest(3)
        commit()
    }

    private mutating func ingestRequest(_ seconds: Double, isRetained: Bool = false) {
        intake.ingest(
            "lockstep/lab/pi/forget", ForgetJSON.encode(ForgetRequest(id: "7")), isRetained: isRetained, &registry,
            seconds)
    }

    private mutating func ingestPresence(
        _ phase: Phase, _ seconds: Double, session: Int64 = 1, at publication: Double? = nil
    ) {
        let presence = Presence(epoch: epoch, session: session, phase: phase, at: time(publication ?? seconds))
        intake.ingest("lockstep/lab/pi/presence", PresenceJSON.encode(presence), &registry, seconds)
    }

    @discardableResult
    private mutating func commit() -> (group: IngestGroup, returned: [DeviceAddress]) {
        let group = intake.takeGroup(&registry, at: moment(9))
        return (group, registry.commit())
    }

    @Test("a device that has ended is forgotten by the commit, and its snapshot says so")
    mutating func forgotten() {
        intake.ingest(Self.topic, BatchJSON.encode(IntakeTests.batch(at: 1)), &registry, 1)
        ingestPresence(.terminated, 2)
        commit()
        #expect(registry.deviceCount == 1)
        ingestRequest(3)
        #expect(!intake.forgetting.isDue, "nothing is answered before the commit")
        let group = commit().group
        #expect(group.lifecycles[device]?.isForgotten == true && group.transitions.isEmpty && !group.isDeferrable)
        #expect(intake.forgetting.takePending().map(\.outcome) == [.forgotten])
        #expect(registry.deviceCount == 0 && registry.devices.isEmpty && registry.lastTransition(of: device) == nil)
        // A repeated request, because the answer was lost, needs no commit.
        ingestRequest(4)
        #expect(intake.group.isEmpty)
        #expect(intake.forgetting.takeDue().requests.map(\.outcome) == [.forgotten])
    }

    @Test("a device that is connected is not forgotten, and an unknown one is reported")
    mutating func refused() {
        ingestRequest(0)
        #expect(intake.forgetting.takeDue().requests.map(\.outcome) == [.unknown])
        intake.ingest(Self.topic, BatchJSON.encode(IntakeTests.batch(at: 1)), &registry, 1)
        commit()
        ingestRequest(2)
        let request = intake.forgetting.takeDue().requests.first
        #expect(request?.outcome == .online && request?.id == "7" && request?.device == device)
        #expect(registry.deviceCount == 1 && !registry.isForgotten(device))
        // A retained request would be repeated with each connection.
        ingestPresence(.terminated, 3)
        ingestRequest(4, isRetained: true)
        #expect(!registry.isForgotten(device))
    }

    @Test("a device in background is connected while it repeats this", arguments: [(20.0, true), (80.0, false)])
    mutating func background(seconds: Double, isOnline: Bool) {
        ingestPresence(.foreground, 0)
        ingestPresence(.background, 1)
        commit()
        #expect(registry.isOnline(device, at: moment(seconds)) == isOnline)
    }

    @Test("a rollback reverts it")
    mutating func rollback() {
        ingestPresence(.foreground, 1)
        ingestPresence(.terminated, 2)
        commit()
        ingestRequest(3)
        #expect(registry.isForgotten(device))
        registry.rollback()
        #expect(!registry.isForgotten(device) && registry.deviceCount == 1)
        #expect(registry.lastTransition(of: device)?.to == .terminated)
    }

    @Test("a batch, also a late one, or a new presence brings it back", arguments: ["live", "late", "presence"])
    mutating func returns(with message: String) {
        forgetDevice()
        switch message {
        case "live": intake.ingest(Self.topic, BatchJSON.encode(IntakeTests.batch(at: 8)), &registry, 8)
        case "late":
            intake.ingest(Self.topic, BatchJSON.encode(IntakeTests.batch(at: 1.5, isLive: false)), &registry, 8)
        default: ingestPresence(.foreground, 8)
        }
        let (group, returned) = commit()
        #expect(group.lifecycles[device]?.isForgotten == false)
        #expect(returned == [device] && registry.deviceCount == 1)
        #expect(registry.lastTransition(of: device)?.to == (message == "late" ? .terminated : .resumed))
    }

    @Test("a retained batch or the end of an earlier connection does not bring it back, and the latter is deleted")
    mutating func stays() {
        forgetDevice()
        intake.ingest(
            Self.topic, BatchJSON.encode(IntakeTests.batch(at: 1, seq: 8)), isRetained: true, &registry, 7)
        commit()
        #expect(registry.isForgotten(device) && intake.forgetting.takeDue().ended.isEmpty)
        ingestPresence(.lost, 8)
        ingestPresence(.terminated, 8)
        #expect(intake.group.isEmpty && registry.isForgotten(device))
        #expect(intake.forgetting.takeDue().ended == [device, device])
    }

    @Test("an earlier presence, which a gateway repeats with a new connection, does not bring it back")
    mutating func repeated() {
        ingestPresence(.foreground, 1)
        ingestPresence(.background, 2)
        commit()
        ingestRequest(100)
        commit()
        #expect(registry.isForgotten(device))
        _ = intake.forgetting.takeDue()
        ingestPresence(.background, 101, session: 2, at: 2)
        #expect(intake.group.isEmpty && registry.isForgotten(device))
        #expect(intake.forgetting.takeDue().ended == [device])
        ingestPresence(.background, 102, session: 2)
        commit()
        #expect(!registry.isForgotten(device))
    }

    @Test("batches that were dropped are recorded, also if the report about them does not bring the device back")
    mutating func dropped() {
        forgetDevice()
        var presence = Presence(epoch: epoch, session: 1, phase: .lost, at: time(8))
        presence.dropped = [3...5]
        intake.ingest("lockstep/lab/pi/presence", PresenceJSON.encode(presence), &registry, 8)
        #expect(commit().group.dropped.map(\.ranges) == [SequenceSet([3...5])])
        #expect(registry.isForgotten(device))
    }

    @Test("it stays forgotten after a restart")
    func restart() {
        var snapshot = LifecycleSnapshot(
            last: LifecycleTransition(from: nil, to: .terminated, since: time(1), reason: "stop", seq: 1))
        snapshot.isForgotten = true
        let registry = LifecycleRegistry([device: snapshot], timing: .init(), at: moment(0))
        #expect(registry.devices.isEmpty && registry.deviceCount == 0 && registry.isForgotten(device))
    }

    @Test("pending acknowledgements of a forgotten device are not sent")
    func acknowledgements() {
        var schedule = AcknowledgementSchedule()
        for (number, name) in ["pi", "other"].enumerated() {
            let address = DeviceAddress(group: device.group, device: DeviceID(unchecked: name))
            schedule.schedule(
                .init(key: .init(device: address, epoch: epoch), number: number, received: SequenceSet([1...2])),
                after: 0, at: 0)
        }
        schedule.cancel(device)
        #expect(schedule.takeDue(at: 2_000_000, isStopping: false).map(\.device.device.rawValue) == ["other"])
    }
}
