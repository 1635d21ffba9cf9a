import LockstepModel
import LockstepStore
import LockstepWire

@testable import LockstepCollector
@testable import LockstepMQTT

/// The start of all tests, in µs since 1970: 2023-11-14T22:13:20Z.
let start: Int64 = 1_700_000_000_000_000
let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "pi"))
let epoch = Epoch(unchecked: "e1")

/// The wall time `seconds` after ``start``.
func time(_ seconds: Double) -> Timestamp { Timestamp(microseconds: start + Int64(seconds * 1e6)) }

/// The collector's clocks `seconds` after ``start``. The machine booted a thousand seconds before ``start``.
func moment(_ seconds: Double) -> Moment {
    let boot = 1_000_000_000 + Int64(seconds * 1e6)
    return Moment(wall: time(seconds), boot: boot, awake: boot)
}

/// A presence message with the time `seconds` after ``start``.
func presence(_ phase: Phase, _ seconds: Double?, session: Int64? = 1, reason: String? = nil) -> LifecycleMachine.Event
{
    .presence(Presence(epoch: epoch, session: session, phase: phase, at: seconds.map(time), reason: reason))
}

/// A live batch whose newest sample is `seconds` after ``start``.
func live(_ seconds: Double) -> LifecycleMachine.Event { .liveSamples(newest: time(seconds)) }

extension LifecycleMachine {
    /// Creates a machine that has processed these events, each at its time.
    init(after events: [(Double, Event)]) {
        self.init(at: moment(0))
        for (seconds, event) in events { _ = handle(event, at: moment(seconds)) }
    }

    /// Processes an event, and returns the new state and its reason, or nil if the state has not changed.
    mutating func move(_ event: Event, _ seconds: Double) -> Move? {
        handle(event, at: moment(seconds)).map { Move(to: $0.to, reason: $0.reason) }
    }
}

/// The new state and the reason of a transition.
struct Move: Equatable {
    let to: LifecycleState
    let reason: String

    init(to: LifecycleState, reason: String) {
        self.to = to
        self.reason = reason
    }

    init(_ to: LifecycleState, _ reason: String) { self.init(to: to, reason: reason) }
}

/// The scenarios that lead to each state.
enum Scenario: CaseIterable {
    case active, inactive, declaredBackground, lost, silent, terminated, resumed

    var state: LifecycleState {
        switch self {
        case .active: .active
        case .inactive: .inactive
        case .declaredBackground, .lost, .silent: .background
        case .terminated: .terminated
        case .resumed: .resumed
        }
    }

    /// A machine that has entered the state, 99 s after the start.
    var machine: LifecycleMachine {
        let begin = (0.0, presence(.foreground, 0))
        switch self {
        case .active: return LifecycleMachine(after: [begin, (99, presence(.foreground, 99))])
        case .inactive: return LifecycleMachine(after: [begin, (99, presence(.inactive, 99))])
        case .declaredBackground: return LifecycleMachine(after: [begin, (99, presence(.background, 99))])
        case .lost: return LifecycleMachine(after: [begin, (99, presence(.lost, 0))])
        case .silent: return LifecycleMachine(after: [begin, (99, .tick)])
        case .terminated: return LifecycleMachine(after: [begin, (99, presence(.terminated, 99))])
        case .resumed:
            return LifecycleMachine(after: [
                begin, (98, presence(.background, 98)), (99, presence(.foreground, 99)),
            ])
        }
    }
}

extension LifecycleRegistry {
    /// The last committed transition of each device.
    var states: [DeviceTransition] {
        devices.compactMap { device in
            lastTransition(of: device).map { DeviceTransition(device: device, transition: $0) }
        }
    }
}

extension CollectorScope {
    /// All devices below the default root.
    static var standard: CollectorScope { CollectorScope(root: .standard) }
}

extension Intake {
    /// An intake with limits of 2000 bytes, 50 samples, one minute and three devices.
    static var standard: Intake { standard(.standard) }

    static func standard(_ scope: CollectorScope) -> Intake {
        Intake(
            scope: scope, limits: .init(bytes: 2000, samples: 50), maxFuture: 60_000_000, maxDevices: 3,
            devices: [])
    }

    /// Ingests a message as libmosquitto delivers it.
    mutating func ingest(
        _ topic: String, _ payload: [UInt8], isRetained: Bool = false, _ registry: inout LifecycleRegistry,
        _ seconds: Double
    ) {
        payload.withUnsafeBytes { bytes in
            let whole = payload.isEmpty ? UnsafeRawBufferPointer(start: nil, count: 0) : bytes
            Array(topic.utf8).withUnsafeBytes { topic in
                ingest(
                    IncomingMessage(topicBytes: topic, payload: whole, isRetained: isRetained), &registry,
                    at: moment(seconds))
            }
        }
    }
}

extension IngestGroup {
    /// The time of the newest evidence for the state of a device, or nil if the group has none.
    func evidenceTime(of device: DeviceAddress) -> Timestamp? {
        lifecycles[device]?.evidenceTime ?? evidence.last { $0.device == device }?.time
    }
}
