import LockstepModel
import LockstepStore

/// The life cycles of all devices, with what the present transaction would change in them.
///
/// What was decided counts only once it is on disk: ``commit()`` keeps it, ``rollback()`` takes it back.
struct LifecycleBook {
    private var settled: [DeviceAddress: LifecycleMachine]
    private var open: [DeviceAddress: LifecycleMachine] = [:]
    private let timing: LifecycleMachine.Timing
    private var nextTick: Int64 = .max

    init(_ snapshots: [DeviceAddress: LifecycleSnapshot], timing: LifecycleMachine.Timing, at moment: Moment) {
        self.timing = timing
        settled = snapshots.mapValues { LifecycleMachine($0, timing: timing, at: moment) }
    }

    var deviceCount: Int { settled.count }

    /// The last transition of every device.
    var states: [DeviceTransition] {
        settled.compactMap { device, machine in
            machine.snapshot.last.map { DeviceTransition(device: device, transition: $0) }
        }
    }

    /// Hands an event to a device's life cycle, and notes in `group` what there is to write.
    mutating func handle(
        _ event: LifecycleMachine.Event, of device: DeviceAddress, at moment: Moment, into group: inout IngestGroup
    ) {
        var machine = open[device] ?? settled[device] ?? LifecycleMachine(timing: timing, at: moment)
        let transition = machine.handle(event, at: moment)
        open[device] = machine
        nextTick = min(nextTick, machine.nextTick ?? .max)
        group.lifecycles[device] = machine.snapshot
        if let transition { group.transitions.append(DeviceTransition(device: device, transition: transition)) }
    }

    /// Lets time pass for the devices that wait for it.
    mutating func tick(at moment: Moment, into group: inout IngestGroup) {
        guard moment.boot >= nextTick else { return }
        nextTick = .max
        // What was first heard of in this very transaction waits for time as well.
        for (device, machine) in settled.merging(open, uniquingKeysWith: { $1 }) {
            guard let due = machine.nextTick else { continue }
            if moment.boot >= due {
                handle(.tick, of: device, at: moment, into: &group)
            } else {
                nextTick = min(nextTick, due)
            }
        }
    }

    /// Starts all silences anew: the collector was cut off and heard nobody.
    mutating func startListening(at moment: Moment) {
        for device in settled.keys { settled[device]?.startListening(at: moment) }
        // The first tick finds the time of the next.
        nextTick = moment.boot
    }

    mutating func commit() {
        settled.merge(open) { $1 }
        open.removeAll(keepingCapacity: true)
    }

    mutating func rollback() {
        open.removeAll(keepingCapacity: true)
        nextTick = .min
    }
}
