import LockstepModel
import LockstepStore
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Life-cycle registry")
struct LifecycleRegistryTests {
    private let other = DeviceAddress(group: device.group, device: DeviceID(unchecked: "other"))

    private func makeRegistry(_ snapshots: [DeviceAddress: LifecycleSnapshot] = [:]) -> LifecycleRegistry {
        LifecycleRegistry(snapshots, timing: .init(), at: moment(0))
    }

    @Test("changes are added to the group at once, and become visible after the commit")
    func commit() {
        var registry = makeRegistry()
        var group = IngestGroup()
        registry.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        registry.handle(presence(.background, 2), of: device, at: moment(2), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active, .background])
        #expect(group.transitions.allSatisfy { $0.device == device })
        #expect(group.lifecycles[device]?.last == group.transitions.last?.transition)
        #expect(registry.states.isEmpty && registry.deviceCount == 0)
        registry.commit()
        #expect(registry.states == [group.transitions[1]])
        #expect(registry.deviceCount == 1)
    }

    @Test("a tick includes a device that is not committed yet")
    func uncommitted() {
        var registry = makeRegistry()
        var group = IngestGroup()
        registry.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        // The first tick finds a queue entry that is earlier than the actual deadline.
        registry.restartSilence(at: moment(1))
        registry.tick(at: moment(2), into: &group)
        registry.commit()
        registry.tick(at: moment(1 + 75), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active, .background])
    }

    /// A registry in which a device has become active, the group that was committed, and one that was rolled back: with it,
    /// the device went to background, and another one appeared.
    private func rolledBack() -> (registry: LifecycleRegistry, committed: IngestGroup, failed: IngestGroup) {
        var registry = makeRegistry()
        var first = IngestGroup()
        registry.handle(presence(.foreground, 1), of: device, at: moment(1), into: &first)
        registry.commit()
        let failed = changes(&registry, at: 2)
        registry.rollback()
        return (registry, first, failed)
    }

    private func changes(_ registry: inout LifecycleRegistry, at seconds: Double) -> IngestGroup {
        var group = IngestGroup()
        registry.handle(presence(.background, 2), of: device, at: moment(seconds), into: &group)
        registry.handle(presence(.foreground, 2), of: other, at: moment(seconds), into: &group)
        return group
    }

    @Test("a transition that the store has kept stays after a rollback, and the next one has the next number")
    func adopted() throws {
        var (registry, committed, failed) = rolledBack()
        registry.adopt(committed.lifecycles, at: moment(3))
        #expect(registry.states == committed.transitions)
        registry.adopt(failed.lifecycles, at: moment(3))
        #expect(Set(registry.states) == Set(failed.transitions) && registry.deviceCount == 2)
        #expect(changes(&registry, at: 4).transitions.isEmpty)
    }

    @Test("a rollback reverts changes, and the same events lead to the same transitions again")
    func rollback() {
        var (registry, committed, failed) = rolledBack()
        #expect(registry.states == committed.transitions && registry.deviceCount == 1)
        let again = changes(&registry, at: 3)
        #expect(again.transitions == failed.transitions && again.lifecycles == failed.lifecycles)
    }

    @Test("the snapshot of a device is written even if its state does not change")
    func snapshots() {
        var registry = makeRegistry()
        var group = IngestGroup()
        registry.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        registry.commit()
        var heartbeat = IngestGroup()
        registry.handle(presence(.foreground, 31), of: device, at: moment(31), into: &heartbeat)
        #expect(heartbeat.transitions.isEmpty)
        #expect(heartbeat.evidenceTime(of: device) == time(31))
    }

    @Test("a tick affects only the devices whose deadline has passed")
    func ticks() {
        var registry = makeRegistry()
        var group = IngestGroup()
        registry.handle(presence(.foreground, 0), of: device, at: moment(0), into: &group)
        registry.handle(presence(.foreground, 50), of: other, at: moment(50), into: &group)
        registry.commit()
        var early = IngestGroup()
        registry.tick(at: moment(74), into: &early)
        #expect(early.isEmpty)
        var first = IngestGroup()
        registry.tick(at: moment(75), into: &first)
        #expect(first.transitions.map(\.device) == [device])
        #expect(first.transitions.map(\.transition.reason) == ["silent"])
        registry.commit()
        var later = IngestGroup()
        registry.tick(at: moment(124), into: &later)
        #expect(later.isEmpty)
        registry.tick(at: moment(125), into: &later)
        #expect(later.transitions.map(\.device) == [other])
    }

    @Test("a tick is repeated after a rollback")
    func ticksAfterRollback() {
        var registry = makeRegistry()
        var group = IngestGroup()
        registry.handle(presence(.foreground, 0), of: device, at: moment(0), into: &group)
        registry.commit()
        var failed = IngestGroup()
        registry.tick(at: moment(80), into: &failed)
        registry.rollback()
        var again = IngestGroup()
        registry.tick(at: moment(81), into: &again)
        #expect(failed.transitions.count == 1 && again.transitions.count == 1)
        #expect(again.transitions.first?.transition.seq == 2)
    }

    @Test("restored devices keep their state, and their silence timeout starts with the connection")
    func restored() {
        var registry = makeRegistry([
            device: Scenario.active.machine.snapshot, other: Scenario.terminated.machine.snapshot,
        ])
        #expect(registry.deviceCount == 2 && registry.states.count == 2)
        var group = IngestGroup()
        registry.tick(at: moment(4000), into: &group)
        #expect(group.isEmpty)
        registry.restartSilence(at: moment(5000))
        registry.tick(at: moment(5074), into: &group)
        #expect(group.transitions.isEmpty)
        registry.tick(at: moment(5075), into: &group)
        #expect(group.transitions.map(\.device) == [device])
    }

    @Test("restarting the silence timeout includes a device with uncommitted changes")
    func restartedSilence() {
        var registry = makeRegistry()
        var group = IngestGroup()
        registry.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        registry.commit()
        registry.handle(presence(.foreground, 2), of: device, at: moment(2), into: &group)
        registry.restartSilence(at: moment(5000))
        registry.commit()
        registry.tick(at: moment(5074), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active])
        registry.tick(at: moment(5075), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active, .background])
    }

    @Test("the transitions equal those of individual state machines, across commits and rollbacks")
    func manyDevices() {
        var (random, seed) = seeded("many devices")
        let devices = (0..<20).map { DeviceAddress(group: device.group, device: DeviceID(unchecked: "d\($0)")) }
        var machines = Dictionary(uniqueKeysWithValues: devices.map { ($0, LifecycleMachine(at: moment(0))) })
        var registry = makeRegistry()
        var seconds = 0.0
        for _ in 0..<4000 {
            seconds += .random(in: 0...3, using: &random)
            let now = moment(seconds)
            let sender = devices[.random(in: 0..<20, using: &random)]
            let event = [presence(.foreground, seconds), presence(.background, seconds), live(seconds)].randomElement(
                using: &random)
            var group = IngestGroup()
            if let event { registry.handle(event, of: sender, at: now, into: &group) }
            registry.tick(at: now, into: &group)
            guard Int.random(in: 0..<4, using: &random) > 0 else {
                registry.rollback()
                continue
            }
            registry.commit()
            var expected: [DeviceTransition] = []
            for device in devices {
                for event in (device == sender ? [event] : []).compactMap(\.self) + [.tick] {
                    if let change = machines[device]?.handle(event, at: now) {
                        expected.append(DeviceTransition(device: device, transition: change))
                    }
                }
            }
            #expect(Set(group.transitions) == Set(expected), "seed \(seed)")
        }
    }
}
