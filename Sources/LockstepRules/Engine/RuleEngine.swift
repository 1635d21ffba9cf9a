public import LockstepModel
import LockstepMotion

/// Evaluates rules: it takes samples, transitions and times, and returns events.
///
/// It reads no clock and does no I/O. The same input gives the same events. Times are those of the samples. The changes
/// of a transaction are kept by ``commit()`` or reverted by ``rollBack()``.
public struct RuleEngine: Sendable {
    /// The state of a rule for a device that has to be kept.
    public struct Change: Sendable, Hashable {
        /// The name of the rule's state, see ``Rule/stateName``.
        public let rule: String
        /// The device; nil for the machine.
        public let device: DeviceAddress?
        /// The state.
        public let slot: RuleSlot

        /// Creates a kept state.
        public init(rule: String, device: DeviceAddress?, slot: RuleSlot) {
            self.rule = rule
            self.device = device
            self.slot = slot
        }
    }

    /// The time for which a change of an orientation may be on its way, in µs.
    static let orientationDelay: Int64 = 5_000_000

    /// The difference from which the wall clock counts as set, in µs.
    static let maxCorrection: Int64 = 5_000_000

    struct Key: Hashable {
        /// The number of the device, or −1 for the machine.
        let device: Int
        let rule: Int
    }

    /// When a state began that a rule waits for. The boot clock measures how long it lasts, because the wall clock may be
    /// set meanwhile.
    struct StateStart {
        /// The time of ``RuleState/since``. If that is another one, this start is of an earlier state.
        let since: Int64
        /// The time in µs of the boot clock.
        let boot: Int64

        init(_ since: Int64, at moment: Moment) {
            self.since = since
            // A time in the future was given by a clock that was ahead.
            boot = moment.boot - max(0, moment.wall.microseconds - since)
        }
    }

    struct Device {
        let address: DeviceAddress
        var byStream: [SensorStream: [Int]] = [:]
        /// The rules on states, silence and delivery.
        var states: [Int] = []
        var silences: [Int] = []
        var health: [Int] = []
        var slots: [Int: RuleSlot] = [:]
        /// The rules on orientations whose newest sample arrived live, so that the orientation may last until now, with the
        /// time of its arrival in µs of the boot clock. The device's clock may be wrong.
        var held: [Int: Int64] = [:]
        /// When the states began that rules wait for, by rule.
        var began: [Int: StateStart] = [:]
        /// The time of the newest sample of each stream of interest, in µs since 1970.
        var newest: [SensorStream: Int64] = [:]
        /// The values of each stream that change nothing, until a state changes.
        var quiet: [SensorStream: QuietRange] = [:]
        /// When the last new sample of a stream arrived, in µs of the boot clock. The key nil is for any stream.
        var heard: [SensorStream?: Int64] = [:]
    }

    /// The rules.
    public private(set) var ruleSet: RuleSet
    var devices: [Device?] = []
    /// The states from before the start or the removal of their devices, until these appear.
    private var stored: [String: RuleSlot] = [:]
    var machine: [Int: RuleSlot] = [:]
    var shakes: [Key: ShakeDetector] = [:]
    var falls: [Key: FallDetector] = [:]
    var windows: [Key: ValueWindow] = [:]
    /// The slots before the current transaction.
    private var undo: [Key: RuleSlot] = [:]
    /// The devices that the current transaction added.
    private var added: [Int] = []
    private var undoNewest: [(device: Int, stream: SensorStream, time: Int64?)] = []
    private var undoHeld: [(key: Key, arrival: Int64?)] = []
    private let stateNames: [String]
    private let stateNameSet: Set<String>
    private let watched: Set<SensorStream>
    private let watchesAll: Bool
    /// Whether time alone can complete a condition.
    public let hasTimeConditions: Bool

    /// Creates an engine.
    /// - Parameter states: the kept states, by rule and device.
    public init(_ ruleSet: RuleSet, states: [Change] = []) {
        self.ruleSet = ruleSet
        stateNames = ruleSet.rules.map(\.stateName)
        stateNameSet = Set(stateNames)
        watched = Set(ruleSet.rules.compactMap(\.condition.stream))
        watchesAll = ruleSet.rules.contains { rule in
            switch rule.condition {
            case .silence(nil, _), .health(.clock): true
            default: false
            }
        }
        hasTimeConditions = ruleSet.rules.contains { rule in
            switch rule.condition {
            case .state, .silence, .health: true
            case .orientation(_, let lasting): lasting > 0
            default: false
            }
        }
        for change in states { stored[Self.text(change.rule, change.device)] = change.slot }
        for (index, rule) in ruleSet.rules.enumerated() {
            if case .health(.disk) = rule.condition {
                machine[index] = stored[Self.text(stateNames[index], nil)] ?? RuleSlot()
            }
        }
    }

    /// Returns whether any rule may need the samples of a stream.
    public func watches(_ stream: SensorStream) -> Bool { watchesAll || watched.contains(stream) }

    /// Returns whether a rule has states with this name, see ``Rule/stateName``.
    public func keepsStates(named name: String) -> Bool { stateNameSet.contains(name) }

    /// Whether there are no rules.
    public var isEmpty: Bool { ruleSet.rules.isEmpty }

    /// Returns whether the device with a number is known.
    public func knows(_ number: Int) -> Bool { number < devices.count && devices[number] != nil }

    /// Adds a device.
    /// - Parameters:
    ///   - number: a small number that identifies the device.
    ///   - moment: the current time, at which silence starts.
    public mutating func add(_ address: DeviceAddress, number: Int, at moment: Moment) {
        while devices.count <= number { devices.append(nil) }
        var device = Device(address: address)
        for (index, rule) in ruleSet.rules.enumerated() where rule.concerns(address) {
            switch rule.condition {
            case .state: device.states.append(index)
            case .health(.disk): continue
            case .health: device.health.append(index)
            case .silence(let stream, _):
                device.silences.append(index)
                device.heard[stream] = moment.boot
            default: break
            }
            if let stream = rule.condition.stream { device.byStream[stream, default: []].append(index) }
            device.slots[index] = stored[Self.text(stateNames[index], address)] ?? RuleSlot()
            if case .state = rule.condition, let since = device.slots[index]?.live.since {
                device.began[index] = StateStart(since, at: moment)
            }
        }
        devices[number] = device
        added.append(number)
    }

    /// Removes a device, between two transactions. Its states are kept for its return.
    public mutating func remove(_ number: Int) {
        guard knows(number), let device = devices[number] else { return }
        for (rule, slot) in device.slots { stored[Self.text(stateNames[rule], device.address)] = slot }
        for rule in stateNames.indices {
            let key = Key(device: number, rule: rule)
            (shakes[key], falls[key], windows[key]) = (nil, nil, nil)
        }
        devices[number] = nil
    }

    /// Returns whether the newest time of a device's stream has to be set with ``setNewest(_:of:device:)`` first.
    public func needsNewest(of stream: SensorStream, device: Int) -> Bool {
        guard let device = devices[device] else { return false }
        return device.byStream[stream] != nil && device.newest[stream] == nil
    }

    /// Sets the time of the newest sample of a device's stream, in µs since 1970; `Int64.min` for none.
    public mutating func setNewest(_ time: Int64, of stream: SensorStream, device: Int) {
        undoNewest.append((device, stream, nil))
        devices[device]?.newest[stream] = time
    }

    /// Keeps the changes of the transaction.
    public mutating func commit() {
        undo.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
        undoNewest.removeAll(keepingCapacity: true)
        undoHeld.removeAll(keepingCapacity: true)
    }

    /// Reverts the changes of the transaction.
    public mutating func rollBack() {
        for (key, slot) in undo { write(slot, key) }
        // The samples are delivered again, and would be in a window twice.
        shakes.removeAll()
        falls.removeAll()
        windows.removeAll()
        for change in undoNewest.reversed() { devices[change.device]?.newest[change.stream] = change.time }
        for change in undoHeld.reversed() { devices[change.key.device]?.held[change.key.rule] = change.arrival }
        for number in added { devices[number] = nil }
        commit()
    }

    /// The states that the transaction changed.
    public var changes: [Change] {
        undo.keys.compactMap { key in
            let rule = stateNames[key.rule]
            if key.device < 0 { return machine[key.rule].map { Change(rule: rule, device: nil, slot: $0) } }
            guard let device = devices[key.device], let slot = device.slots[key.rule] else { return nil }
            return Change(rule: rule, device: device.address, slot: slot)
        }
    }

    /// Replaces the rules. A rule with the name and condition of an old one keeps its states.
    public mutating func replace(_ rules: RuleSet, states: [Change]) -> [(number: Int, address: DeviceAddress)] {
        let known = devices.enumerated().compactMap { number, device in device.map { (number, $0) } }
        self = RuleEngine(rules, states: states)
        return known.map { ($0.0, $0.1.address) }
    }

    static func text(_ rule: String, _ device: DeviceAddress?) -> String { "\(rule) \(device?.description ?? "")" }

    /// Sets when a live sample of an orientation arrived, in µs of the boot clock, or nil if it may have ended.
    mutating func hold(since arrival: Int64?, _ key: Key) {
        guard let before = devices[key.device]?.held[key.rule] ?? arrival else { return }
        undoHeld.append((key, devices[key.device]?.held[key.rule]))
        // A repeated orientation lasts since its first sample.
        devices[key.device]?.held[key.rule] = arrival.map { min($0, before) }
    }

    /// Changes a slot and remembers the one before the transaction.
    mutating func set(_ slot: RuleSlot, _ key: Key) {
        let before = key.device < 0 ? machine[key.rule] : devices[key.device]?.slots[key.rule]
        guard let before, before != slot else { return }
        if undo[key] == nil { undo[key] = before }
        write(slot, key)
    }

    private mutating func write(_ slot: RuleSlot, _ key: Key) {
        guard key.device >= 0 else {
            machine[key.rule] = slot
            return
        }
        devices[key.device]?.slots[key.rule] = slot
        devices[key.device]?.quiet.removeAll(keepingCapacity: true)
    }

    mutating func setNewest(_ time: Int64, _ stream: SensorStream, before: Int64, device: Int) {
        undoNewest.append((device, stream, before))
        devices[device]?.newest[stream] = time
    }
}
