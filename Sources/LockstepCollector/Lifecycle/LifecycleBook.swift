import LockstepModel
import LockstepStore

/// The life cycles of all devices, with what the present transaction would change in them.
///
/// What was decided counts only once it is on disk: ``commit()`` keeps it, ``rollback()`` takes it back.
struct LifecycleBook {
    private var settled: [DeviceAddress: LifecycleMachine]
    private var open: [DeviceAddress: LifecycleMachine] = [:]
    private let timing: LifecycleMachine.Timing
    /// When time may have an effect on whom, in µs of the boot clock: never later than it has, often earlier, as each
    /// word of a device puts it off.
    private var queue = DueQueue<DeviceAddress>()
    /// The place of each device in the queue; others of it are void.
    private var queuedFor: [DeviceAddress: Int64] = [:]

    init(_ snapshots: [DeviceAddress: LifecycleSnapshot], timing: LifecycleMachine.Timing, at moment: Moment) {
        self.timing = timing
        settled = snapshots.mapValues { LifecycleMachine($0, timing: timing, at: moment) }
    }

    var deviceCount: Int { settled.count }

    var devices: [DeviceAddress] { Array(settled.keys) }

    /// The last transition of a device.
    func lastTransition(of device: DeviceAddress) -> LifecycleTransition? { settled[device]?.snapshot.last }

    /// Hands an event to a device's life cycle, and notes in `group` what there is to write.
    /// - Returns: the state after it; nil where there is none yet.
    @discardableResult
    mutating func handle(
        _ event: LifecycleMachine.Event, of device: DeviceAddress, at moment: Moment, into group: inout IngestGroup
    ) -> LifecycleState? {
        var machine = open[device] ?? settled[device] ?? LifecycleMachine(timing: timing, at: moment)
        let before = machine.snapshot
        let transition = machine.handle(event, at: moment)
        open[device] = machine
        if let due = machine.nextTick { enqueue(device, due: due) }
        group.lifecycles[device] = machine.snapshot
        if !machine.snapshot.differsOnlyInEvidence(from: before) { group.hasLifecycleChanges = true }
        if let transition { group.transitions.append(DeviceTransition(device: device, transition: transition)) }
        return machine.state
    }

    /// Lets time pass for the devices that wait for it.
    mutating func tick(at moment: Moment, into group: inout IngestGroup) {
        while let (queued, device) = queue.popDue(at: moment.boot) {
            guard queuedFor[device] == queued else { continue }
            queuedFor[device] = nil
            // What was first heard of in this very transaction waits for time as well.
            guard let due = (open[device] ?? settled[device])?.nextTick else { continue }
            if moment.boot >= due {
                handle(.tick, of: device, at: moment, into: &group)
            } else {
                enqueue(device, due: due)
            }
        }
    }

    /// Starts all silences anew: the collector was cut off and heard nobody.
    mutating func startListening(at moment: Moment) {
        for device in settled.keys {
            settled[device]?.startListening(at: moment)
            if let due = settled[device]?.nextTick { enqueue(device, due: due) }
        }
        for device in open.keys { open[device]?.startListening(at: moment) }
    }

    mutating func commit() {
        settled.merge(open) { $1 }
        open.removeAll(keepingCapacity: true)
    }

    mutating func rollback() {
        // What a tick did to them is undone, and their places in the queue are used up.
        for device in open.keys { enqueue(device, due: .min) }
        open.removeAll(keepingCapacity: true)
    }

    private mutating func enqueue(_ device: DeviceAddress, due: Int64) {
        guard due < queuedFor[device] ?? .max else { return }
        queuedFor[device] = due
        queue.add(device, due: due)
    }
}
