import LockstepModel
import LockstepStore

/// The life cycles of all devices, including the uncommitted changes of the current transaction.
///
/// Changes are provisional until they are on disk: ``commit()`` keeps them, ``rollback()`` reverts them.
struct LifecycleRegistry {
    private var committed: [DeviceAddress: LifecycleMachine]
    /// The changed machines of the current transaction.
    private var uncommitted: [DeviceAddress: LifecycleMachine] = [:]
    private let timing: LifecycleMachine.Timing
    /// The devices by their next tick, in µs of the boot clock. An entry is never later than the actual deadline, and
    /// often earlier, because every message of a device postpones its deadline.
    private var queue = DeadlineQueue<DeviceAddress>()
    /// The valid queue entry of each device. Other entries of the device are stale.
    private var queuedDeadline: [DeviceAddress: Int64] = [:]

    init(_ snapshots: [DeviceAddress: LifecycleSnapshot], timing: LifecycleMachine.Timing, at moment: Moment) {
        self.timing = timing
        committed = snapshots.mapValues { LifecycleMachine($0, timing: timing, at: moment) }
    }

    var deviceCount: Int { committed.count }

    var devices: [DeviceAddress] { Array(committed.keys) }

    /// Returns the last committed transition of a device.
    func lastTransition(of device: DeviceAddress) -> LifecycleTransition? { committed[device]?.snapshot.last }

    /// Passes an event to a device's life cycle, and adds the resulting changes to `group`.
    /// - Returns: the state afterwards, or nil if the device has none yet.
    @discardableResult
    mutating func handle(
        _ event: LifecycleMachine.Event, of device: DeviceAddress, at moment: Moment, into group: inout IngestGroup
    ) -> LifecycleState? {
        var machine = uncommitted[device] ?? committed[device] ?? LifecycleMachine(timing: timing, at: moment)
        let before = machine.snapshot
        let transition = machine.handle(event, at: moment)
        uncommitted[device] = machine
        if let deadline = machine.nextTick { enqueue(device, deadline: deadline) }
        group.lifecycles[device] = machine.snapshot
        if !machine.snapshot.isEqualIgnoringEvidenceTime(before) { group.changedLifecycles.insert(device) }
        if let transition { group.transitions.append(DeviceTransition(device: device, transition: transition)) }
        return machine.state
    }

    /// Advances the time of the devices whose deadline has passed.
    mutating func tick(at moment: Moment, into group: inout IngestGroup) {
        while let (queued, device) = queue.popExpired(at: moment.boot) {
            guard queuedDeadline[device] == queued else { continue }
            queuedDeadline[device] = nil
            // A device that first appeared in this transaction has a deadline, too.
            guard let deadline = (uncommitted[device] ?? committed[device])?.nextTick else { continue }
            if moment.boot >= deadline {
                handle(.tick, of: device, at: moment, into: &group)
            } else {
                enqueue(device, deadline: deadline)
            }
        }
    }

    /// Restarts the timeouts of all devices, because the collector received no messages while it was disconnected.
    mutating func restartSilence(at moment: Moment) {
        for device in committed.keys {
            committed[device]?.restartSilence(at: moment)
            if let deadline = committed[device]?.nextTick { enqueue(device, deadline: deadline) }
        }
        for device in uncommitted.keys { uncommitted[device]?.restartSilence(at: moment) }
    }

    /// Keeps the changes of the current transaction.
    mutating func commit() {
        committed.merge(uncommitted) { $1 }
        uncommitted.removeAll(keepingCapacity: true)
    }

    /// Reverts the changes of the current transaction.
    mutating func rollback() {
        // A reverted tick has already consumed its queue entry. Check these devices again at the next tick.
        for device in uncommitted.keys { enqueue(device, deadline: .min) }
        uncommitted.removeAll(keepingCapacity: true)
    }

    private mutating func enqueue(_ device: DeviceAddress, deadline: Int64) {
        guard deadline < queuedDeadline[device] ?? .max else { return }
        queuedDeadline[device] = deadline
        queue.add(device, deadline: deadline)
    }
}
