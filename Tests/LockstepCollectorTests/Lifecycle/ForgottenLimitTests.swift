import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Forgotten devices and other collectors")
struct ForgottenLimitTests {
    /// At most three devices.
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    private mutating func send(_ name: String, at seconds: Double) {
        intake.ingest(
            "lockstep/lab/\(name)/motion/accelerometer", BatchJSON.encode(IntakeTests.batch(at: seconds)), &registry,
            seconds)
    }

    private mutating func end(_ name: String, at seconds: Double) {
        let presence = Presence(epoch: epoch, session: 1, phase: .terminated, at: time(seconds))
        intake.ingest("lockstep/lab/\(name)/presence", PresenceJSON.encode(presence), &registry, seconds)
    }

    private mutating func forget(_ name: String, at seconds: Double, deletesUnknown: Bool = false) {
        intake.ingest(
            "lockstep/lab/\(name)/forget",
            ForgetJSON.encode(ForgetRequest(id: "7", deletesUnknown: deletesUnknown)), &registry, seconds)
    }

    @discardableResult
    private mutating func commit() -> IngestGroup {
        let group = intake.takeGroup(&registry, at: moment(9))
        registry.commit()
        return group
    }

    @Test("a forgotten device leaves its place to another one, also before the commit, and returns if there is a place")
    mutating func limit() {
        for name in ["a", "b", "c"] { send(name, at: 1) }
        end("a", at: 2)
        commit()
        send("d", at: 3)
        #expect(commit().rejected.count == 1, "the limit is 3")
        forget("a", at: 4)
        send("d", at: 5)
        #expect(commit().rejected.isEmpty && registry.deviceCount == 3)
        send("a", at: 6)
        send("b", at: 6)
        let refused = commit()
        #expect(refused.rejected.map(\.topic) == ["lockstep/lab/a/motion/accelerometer"])
        #expect(refused.rejected.allSatisfy { $0.reason.hasPrefix("too many devices") })
        #expect(registry.deviceCount == 3)
        end("b", at: 7)
        forget("b", at: 7)
        commit()
        send("a", at: 8)
        #expect(commit().rejected.isEmpty && registry.deviceCount == 3)
    }

    @Test("devices that are forgotten one after the other are limited to twice the number of devices")
    mutating func total() {
        let names = ["a", "b", "c", "d", "e", "f"]
        for name in names {
            send(name, at: 1)
            end(name, at: 2)
            forget(name, at: 3)
            #expect(commit().rejected.isEmpty)
        }
        send("g", at: 4)
        let refused = commit().rejected
        #expect(refused.map(\.topic) == ["lockstep/lab/g/motion/accelerometer"])
        #expect(refused.first?.reason.hasPrefix("too many devices: the limit of 6 with forgotten ones") == true)
        send("a", at: 5)
        #expect(commit().rejected.isEmpty && registry.deviceCount == 1)
    }

    @Test("a collector of another partition answers, and changes nothing")
    mutating func partitions() {
        let shares = (0..<2).map { CollectorShare(group: device.group, partition: $0, partitions: 2) }
        var outcomes: [ForgetAnswer.Outcome] = []
        for share in shares {
            intake = .standard(CollectorScope(root: .standard, groups: [share.group], share: share))
            forget("x", at: 1, deletesUnknown: true)
            outcomes += intake.forgetting.takeDue().requests.map(\.outcome)
        }
        #expect(Set(outcomes) == [.other, .unknown] && outcomes.count == 2)
    }

    @Test("a rollback takes the place back")
    mutating func rollback() {
        for name in ["a", "b", "c"] { send(name, at: 1) }
        end("a", at: 2)
        commit()
        forget("a", at: 3)
        registry.rollback()
        intake.discardGroup()
        send("d", at: 4)
        #expect(commit().rejected.count == 1)
    }

    @Test("messages of a device that this collector does not know are deleted only if the request says so")
    mutating func unknown() {
        forget("x", at: 1)
        forget("x", at: 2, deletesUnknown: true)
        let requests = intake.forgetting.takeDue().requests
        #expect(requests.map(\.outcome) == [.unknown, .unknown] && requests.map(\.deletesUnknown) == [false, true])
    }

    @Test("the state of a known device that someone deletes is published again, that of a forgotten one is not")
    mutating func deletedState() {
        send("a", at: 1)
        commit()
        let known = deleteStates()
        end("a", at: 2)
        forget("a", at: 3)
        let pending = deleteStates()
        commit()
        let forgotten = deleteStates()
        #expect(known.map(\.device.rawValue) == ["a"])
        #expect(pending.isEmpty, "the commit will delete it")
        #expect(forgotten.isEmpty && intake.group.isEmpty)
    }

    /// Lets another client delete the states of a known and an unknown device.
    private mutating func deleteStates() -> [DeviceAddress] {
        for name in ["a", "x"] { intake.ingest("lockstep/lab/\(name)/state", [], &registry, 5) }
        intake.ingest("lockstep/lab/a/state", Array("{}".utf8), &registry, 5)
        return intake.forgetting.takeDue().deleted
    }
}
