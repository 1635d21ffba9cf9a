import LockstepModel
import LockstepStore

/// The life cycles of all devices, including the uncommitted changes of the current transaction.
///
/// Changes are provisional until they are on disk: ``commit()`` keeps them, ``rollback()`` reverts them.
///
/// Each device has a number, by which its life cycle is found without computing a hash.
struct LifecycleRegistry {
    private struct Entry {
        let device: DeviceAddress
        var machine: LifecycleMachine
        /// Whether a commit has kept the device. If not, it exists only in the current transaction.
        var isCommitted: Bool
        /// The position in `changed` of the state before the current transaction, or nil if it has not changed.
        var change: Int?
        /// The valid queue entry of the device. Its other entries are stale.
        var queuedDeadline: Int64?
    }

    /// The life cycles by the number of the device.
    private var entries: [Entry] = []
    private var numbers: [DeviceAddress: Int] = [:]
    /// The changed devices of the current transaction, with the states before it.
    private var changed: [(number: Int, machine: LifecycleMachine)] = []
    private let timing: LifecycleMachine.Timing
    /// The devices by their next tick, in µs of the boot clock. An entry is never later than the actual deadline, and
    /// often earlier, because every message of a device postpones its deadline.
    private var queue = DeadlineQueue<Int>()
    /// The number of committed devices, including forgotten ones.
    private var committedCount = 0
    private var committedForgotten = 0
    /// The change of that number by the current transaction.
    private var uncommittedForgotten = 0
    /// Whether any device was forgotten since the start, or before it.
    private(set) var hasForgotten = false
    /// The devices that were forgotten before the current transaction, and that have sent again in it.
    private var returned: [Int] = []

    /// The number of committed devices that are not forgotten.
    var deviceCount: Int { committedCount - committedForgotten }

    /// The number of devices that are forgotten, also by the current transaction.
    var forgottenCount: Int { committedForgotten + uncommittedForgotten }

    init(_ snapshots: [DeviceAddress: LifecycleSnapshot], timing: LifecycleMachine.Timing, at moment: Moment) {
        self.timing = timing
        for (device, snapshot) in snapshots {
            add(device, LifecycleMachine(snapshot, timing: timing, at: moment), isCommitted: true)
        }
        committedCount = entries.count
        committedForgotten = snapshots.values.count(where: \.isForgotten)
        hasForgotten = committedForgotten > 0
    }

    /// The committed devices that are not forgotten.
    var devices: [DeviceAddress] {
        entries.lazy.filter { $0.isCommitted && !$0.machine.snapshot.isForgotten }.map(\.device)
    }

    /// Returns whether a device is forgotten, also by the current transaction.
    func isForgotten(_ device: DeviceAddress) -> Bool {
        hasForgotten && numbers[device].map { entries[$0].machine.snapshot.isForgotten } ?? false
    }

    /// Returns whether a presence shows that a forgotten device is back.
    func showsReturn(_ presence: Presence, of device: DeviceAddress) -> Bool {
        numbers[device].map { entries[$0].machine.showsReturn(presence) } ?? true
    }

    func changesState(_ event: LifecycleMachine.Event, of device: DeviceAddress, at moment: Moment) -> Bool {
        guard let number = numbers[device] else { return true }
        var machine = entries[number].machine
        return machine.handle(event, at: moment) != nil
    }

    /// Returns whether a device is connected, as far as is known.
    func isOnline(_ device: DeviceAddress, at moment: Moment) -> Bool {
        numbers[device].map { entries[$0].machine.isOnline(at: moment) } ?? false
    }

    /// Returns the state of a device, also of the current transaction, or nil if it has none.
    func state(of device: DeviceAddress) -> LifecycleState? { numbers[device].flatMap { entries[$0].machine.state } }

    /// Returns the last committed transition of a device, or nil if it has none or is forgotten.
    func lastTransition(of device: DeviceAddress) -> LifecycleTransition? {
        guard let number = numbers[device], entries[number].isCommitted else { return nil }
        let entry = entries[number]
        let snapshot = (entry.change.map { changed[$0].machine } ?? entry.machine).snapshot
        return snapshot.isForgotten ? nil : snapshot.last
    }

    /// Returns the number of a device, which stays the same.
    mutating func number(of device: DeviceAddress, at moment: Moment) -> Int {
        if let number = numbers[device] { return number }
        return add(device, LifecycleMachine(timing: timing, at: moment), isCommitted: false)
    }

    /// Passes an event to a device's life cycle, and adds the resulting changes to `group`.
    /// - Returns: the state afterwards, or nil if the device has none yet.
    @discardableResult
    mutating func handle(
        _ event: LifecycleMachine.Event, of device: DeviceAddress, at moment: Moment, into group: inout IngestGroup
    ) -> LifecycleState? {
        handle(event, of: number(of: device, at: moment), at: moment, into: &group)
    }

    /// Passes an event to the life cycle of the device with a number.
    @discardableResult
    mutating func handle(
        _ event: LifecycleMachine.Event, of number: Int, at moment: Moment, into group: inout IngestGroup
    ) -> LifecycleState? {
        if entries[number].change == nil {
            if !entries[number].isCommitted {
                // The device may have been added a while ago.
                entries[number].machine = LifecycleMachine(timing: timing, at: moment)
            }
            entries[number].change = changed.count
            changed.append((number, entries[number].machine))
        }
        if case .liveSamples(let newest) = event, entries[number].machine.recordEvidence(newest, at: moment) {
            addEvidence(of: number, into: &group)
        } else {
            let before = entries[number].machine.snapshot
            let transition = entries[number].machine.handle(event, at: moment)
            let (device, snapshot) = (entries[number].device, entries[number].machine.snapshot)
            if snapshot.isForgotten { hasForgotten = true }
            if before.isForgotten != snapshot.isForgotten {
                uncommittedForgotten += snapshot.isForgotten ? 1 : -1
                if before.isForgotten { returned.append(number) }
            }
            if let transition { group.transitions.append(DeviceTransition(device: device, transition: transition)) }
            if snapshot.isEqualIgnoringEvidenceTime(before) {
                addEvidence(of: number, into: &group)
            } else {
                group.lifecycles[device] = snapshot
            }
        }
        if let deadline = entries[number].machine.nextTick { enqueue(number, deadline: deadline) }
        return entries[number].machine.state
    }

    /// Advances the time of the devices whose deadline has passed.
    mutating func tick(at moment: Moment, into group: inout IngestGroup) {
        while let (queued, number) = queue.popExpired(at: moment.boot) {
            guard entries[number].queuedDeadline == queued else { continue }
            entries[number].queuedDeadline = nil
            // A device that first appeared in this transaction has a deadline, too.
            guard entries[number].isCommitted || entries[number].change != nil,
                let deadline = entries[number].machine.nextTick
            else { continue }
            if moment.boot >= deadline {
                handle(.tick, of: number, at: moment, into: &group)
            } else {
                enqueue(number, deadline: deadline)
            }
        }
    }

    /// Restarts the timeouts of all devices, because the collector received no messages while it was disconnected.
    mutating func restartSilence(at moment: Moment) {
        for number in entries.indices {
            entries[number].machine.restartSilence(at: moment)
            if let deadline = entries[number].machine.nextTick { enqueue(number, deadline: deadline) }
        }
        for index in changed.indices {
            changed[index].machine.restartSilence(at: moment)
            if let deadline = changed[index].machine.nextTick { enqueue(changed[index].number, deadline: deadline) }
        }
    }

    /// Keeps the changes of the current transaction.
    /// - Returns: the devices that were forgotten and have sent again, whose states readers do not know.
    @discardableResult
    mutating func commit() -> [DeviceAddress] {
        for (number, before) in changed {
            entries[number].change = nil
            let isForgotten = entries[number].machine.snapshot.isForgotten
            if !entries[number].isCommitted {
                entries[number].isCommitted = true
                committedCount += 1
                if isForgotten { committedForgotten += 1 }
            } else if before.snapshot.isForgotten != isForgotten {
                committedForgotten += isForgotten ? 1 : -1
            }
        }
        changed.removeAll(keepingCapacity: true)
        uncommittedForgotten = 0
        guard !returned.isEmpty else { return [] }
        defer { returned = [] }
        return returned.map { entries[$0].device }
    }

    mutating func rollback() {
        for (number, machine) in changed {
            entries[number].change = nil
            entries[number].machine = machine
            // A reverted tick has already consumed its queue entry. Check these devices again at the next tick.
            enqueue(number, deadline: .min)
        }
        changed.removeAll(keepingCapacity: true)
        uncommittedForgotten = 0
        returned = []
    }

    /// Continues with the stored life cycles that are ahead of the registry, between two transactions: the store has kept
    /// their last transition although the transaction failed.
    mutating func adopt(_ snapshots: [DeviceAddress: LifecycleSnapshot], at moment: Moment) {
        for (device, snapshot) in snapshots {
            guard let stored = snapshot.last, let number = numbers[device],
                stored.seq > entries[number].machine.snapshot.last?.seq ?? 0
            else { continue }
            let isCommitted = entries[number].isCommitted
            if isCommitted, entries[number].machine.snapshot.isForgotten { committedForgotten -= 1 }
            if snapshot.isForgotten { committedForgotten += 1 }
            entries[number].machine = LifecycleMachine(snapshot, timing: timing, at: moment)
            if !isCommitted {
                entries[number].isCommitted = true
                committedCount += 1
            }
            if let deadline = entries[number].machine.nextTick { enqueue(number, deadline: deadline) }
        }
    }

    @discardableResult
    private mutating func add(_ device: DeviceAddress, _ machine: LifecycleMachine, isCommitted: Bool) -> Int {
        numbers[device] = entries.count
        entries.append(Entry(device: device, machine: machine, isCommitted: isCommitted))
        return entries.count - 1
    }

    /// Adds the time of the evidence for an unchanged state.
    private func addEvidence(of number: Int, into group: inout IngestGroup) {
        let device = entries[number].device
        if !group.lifecycles.isEmpty, group.lifecycles[device] != nil {
            group.lifecycles[device] = entries[number].machine.snapshot
        } else if let time = entries[number].machine.snapshot.evidenceTime {
            group.evidence.append(DeviceEvidence(device: device, time: time, number: number))
        }
    }

    private mutating func enqueue(_ number: Int, deadline: Int64) {
        guard deadline < entries[number].queuedDeadline ?? .max else { return }
        entries[number].queuedDeadline = deadline
        queue.add(number, deadline: deadline)
    }
}
