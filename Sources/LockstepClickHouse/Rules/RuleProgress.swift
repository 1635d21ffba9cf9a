import FoundationEssentials
import LockstepModel
import LockstepStore

/// What rules have concluded about a device, and from what. It is one row of `received_rule_states`, so that the server
/// stores all of it or nothing.
///
/// The row is written before the samples that it follows from. Its events and transitions are repeated in their own
/// tables afterwards; after a crash in between, the next owner of the device does that.
struct RuleProgress: Codable, Equatable {
    /// The state of each rule, as JSON.
    var states: [String: String] = [:]
    /// The times of samples, by stream, that were evaluated and may not be stored yet, see ``TimeList``.
    private var evaluated: [String: String] = [:]
    /// The events of the same transaction.
    var events: [Event] = []
    /// The transitions of the same transaction.
    private var transitions: [Transition] = []
    /// The life cycle after `transitions`, or nil if there are none.
    private var lifecycle: Lifecycle?

    /// Creates the progress of a device that no rule knows.
    init() {}

    /// The times of samples, by stream, that were evaluated and may not be stored yet.
    var evaluatedTimes: [String: Set<Int64>] {
        get { evaluated.compactMapValues(TimeList.decode) }
        set { evaluated = newValue.filter { !$0.value.isEmpty }.mapValues(TimeList.encode) }
    }

    struct Event: Codable, Equatable {
        var id: Int64
        var rule: String
        var t: Int64
        var at: Int64
        var value: Double?
        var text: String
        var late: Bool
        var severity: String
        var ways: [String]

        init(_ event: RuleEvent, id: Int64) {
            self.id = id
            rule = event.rule
            t = event.time.microseconds
            at = event.at.microseconds
            value = event.value.flatMap { $0.isFinite ? $0 : nil }
            text = event.text
            late = event.isLate
            severity = event.severity.rawValue
            ways = event.ways
        }

        func stored(of device: DeviceAddress) -> StoredEvent {
            StoredEvent(
                id: id,
                event: RuleEvent(
                    key: .init(rule: rule, device: device, time: Timestamp(microseconds: t)),
                    at: Timestamp(microseconds: at), value: value, text: text, isLate: late,
                    severity: Severity(rawValue: severity) ?? .warning, ways: ways))
        }
    }

    private struct Transition: Codable, Equatable {
        var from: String?
        var to: String
        var since: Int64
        var reason: String
        var seq: Int64

        init(_ transition: LifecycleTransition) {
            from = transition.from?.rawValue
            to = transition.to.rawValue
            since = transition.since.microseconds
            reason = transition.reason
            seq = transition.seq
        }

        var value: LifecycleTransition? {
            guard let to = LifecycleState(rawValue: to) else { return nil }
            return LifecycleTransition(
                from: from.flatMap(LifecycleState.init), to: to, since: Timestamp(microseconds: since), reason: reason,
                seq: seq)
        }
    }

    private struct Lifecycle: Codable, Equatable {
        var epoch: String?
        var session: Int64?
        var phase: String?
        var evidence: Int64?
    }

    /// Records the transitions of a transaction, and the life cycle after them.
    mutating func setTransitions(_ changes: [LifecycleTransition], _ snapshot: LifecycleSnapshot) {
        transitions = changes.map(Transition.init)
        lifecycle =
            changes.isEmpty
            ? nil
            : Lifecycle(
                epoch: snapshot.epoch?.rawValue, session: snapshot.session, phase: snapshot.storedPhase,
                evidence: snapshot.evidenceTime?.microseconds)
    }

    /// Returns the transitions with a higher number than the last stored one, and the life cycle after them; nil if there
    /// are none.
    func transitions(
        after last: Int64
    ) -> (changes: [LifecycleTransition], snapshot: LifecycleSnapshot)? {
        let changes = transitions.compactMap(\.value)
        guard let newest = changes.max(by: { $0.seq < $1.seq }), newest.seq > last else { return nil }
        var snapshot = LifecycleSnapshot(
            last: newest, epoch: lifecycle?.epoch.flatMap { Epoch(rawValue: $0) }, session: lifecycle?.session,
            evidenceTime: lifecycle?.evidence.map(Timestamp.init(microseconds:)))
        snapshot.storedPhase = lifecycle?.phase
        return (changes.filter { $0.seq > last }, snapshot)
    }

    var json: String {
        get throws(StoreError) {
            do { return String(decoding: try JSONEncoder().encode(self), as: UTF8.self) } catch {
                throw StoreError(.other, "the states of rules cannot be encoded: \(error)")
            }
        }
    }

    /// Decodes JSON.
    /// - Throws: ``/LockstepStore/StoreError`` if it is damaged.
    init(json: String, of device: DeviceAddress) throws(StoreError) {
        do { self = try JSONDecoder().decode(Self.self, from: Data(json.utf8)) } catch {
            throw StoreError(.corrupt, "a row of received_rule_states about \(device) is damaged: \(error)")
        }
    }
}

/// What a store knows of rules, their events and notifications.
struct RuleLedger {
    /// The states of the rules, as JSON, by device id and rule.
    var states: [Int64: [String: String]] = [:]
    /// The times of samples, by device id and stream, that were evaluated and are not known to be stored.
    var evaluated: [Int64: [String: Set<Int64>]] = [:]
    /// The committed events, with device ids, whose own rows may not be stored yet.
    var openEvents: [(device: Int64, event: StoredEvent)] = []
    /// The committed transitions, by device id, whose own rows may not be stored yet.
    var openTransitions: [Int64: [LifecycleTransition]] = [:]
    /// The devices whose outcomes were written, but not checked for a later owner.
    var unchecked: Set<DeviceAddress> = []
    /// The event and way of each notification that is not finished.
    var deliveries: [DeliveryKey: (event: Int64, way: String)] = [:]
    /// The devices whose rows have states that no rule has any more.
    var outdated: Set<Int64> = []
    /// The number of the newest event.
    var lastNumber: Int64 = 0

    /// What identifies a notification.
    struct DeliveryKey: Hashable {
        let id: Int64
        let device: DeviceAddress?
    }

    /// Returns a number for an event that is higher than all earlier ones of this store.
    ///
    /// It is made of a time in ms and 11 bits of a hash of the event, so that two collectors seldom choose the same for
    /// events of different devices, and is exact in JavaScript. Several events of the same ms get the times that follow.
    mutating func nextNumber(for key: RuleEvent.Key, at now: Timestamp) -> Int64 {
        var hash = StableHash()
        hash.combine("\(key.rule) \(key.device.map { "\($0)" } ?? "") \(key.time.microseconds)")
        let low = Int64(hash.value & 2047)
        let number = max(0, now.microseconds / 1000) << 11 | low
        lastNumber = number > lastNumber ? number : (lastNumber >> 11 + 1) << 11 | low
        return lastNumber
    }

    static func deliveryNumber(_ event: Int64, way index: Int) -> Int64 { event << 10 | Int64(index & 1023) }
}

extension StoredEvent {
    var newDeliveries: [EventDelivery] {
        event.ways.enumerated().map { index, way in
            EventDelivery(
                id: RuleLedger.deliveryNumber(id, way: index), event: self, way: way, state: .pending, attempts: 0,
                due: event.at)
        }
    }
}

/// A set of times as text: the first time, and then the differences of consecutive times. `1700000000000000 20000x49 20001`
/// are 51 times.
enum TimeList {
    /// Returns the text of `times`.
    static func encode(_ times: Set<Int64>) -> String {
        let sorted = times.sorted()
        guard let first = sorted.first else { return "" }
        var parts = ["\(first)"]
        var (difference, count): (Int64, Int) = (0, 0)
        func end() {
            if count > 0 { parts.append(count == 1 ? "\(difference)" : "\(difference)x\(count)") }
        }
        for (time, next) in zip(sorted, sorted.dropFirst()) {
            // The difference of two times may overflow. Adding it again restores the time.
            if next &- time != difference {
                end()
                (difference, count) = (next &- time, 0)
            }
            count += 1
        }
        end()
        return parts.joined(separator: " ")
    }

    /// Returns the times of `text`, or nil if it is not the text of times.
    static func decode(_ text: String) -> Set<Int64>? {
        var times: Set<Int64> = []
        var last: Int64?
        for part in text.split(separator: " ") {
            let fields = part.split(separator: "x", omittingEmptySubsequences: false)
            guard fields.count <= 2, let number = Int64(fields[0]) else { return nil }
            guard let start = last else {
                guard fields.count == 1 else { return nil }
                times.insert(number)
                last = number
                continue
            }
            guard let count = fields.count == 2 ? Int(fields[1]) : 1, count > 0 else { return nil }
            var time = start
            for _ in 0..<count {
                time &+= number
                times.insert(time)
            }
            last = time
        }
        return times
    }
}

/// The rows of a run that an observer has to evaluate.
struct NewRows {
    /// The times of samples that were evaluated, although they may not be stored.
    private let evaluated: Set<Int64>
    /// The indices of new rows. The times of each range increase.
    private(set) var ranges: [Range<Int>] = []
    /// The times of rows that were evaluated earlier.
    private(set) var resolved: [Int64] = []
    private var lastTime = Int64.min

    init(evaluated: Set<Int64>) { self.evaluated = evaluated }

    /// Returns whether the sample with a time was evaluated earlier, and records that it is stored now.
    mutating func resolve(_ time: Int64) -> Bool {
        guard !evaluated.isEmpty, evaluated.contains(time) else { return false }
        resolved.append(time)
        return true
    }

    mutating func append(_ index: Int, _ time: Int64) {
        if let open = ranges.last, open.upperBound == index, lastTime < time {
            ranges[ranges.count - 1] = open.lowerBound..<index + 1
        } else {
            ranges.append(index..<index + 1)
        }
        lastTime = time
    }
}
