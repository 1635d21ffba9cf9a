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

    /// An event with its number.
    struct Event: Codable, Equatable {
        var id: Int64
        var rule: String
        var t: Int64
        var at: Int64
        var value: Double?
        var text: String
        var late: Bool
        var ways: [String]

        init(_ event: RuleEvent, id: Int64) {
            self.id = id
            rule = event.rule
            t = event.time.microseconds
            at = event.at.microseconds
            value = event.value.flatMap { $0.isFinite ? $0 : nil }
            text = event.text
            late = event.isLate
            ways = event.ways
        }

        /// Returns the event of a device.
        func stored(of device: DeviceAddress) -> StoredEvent {
            StoredEvent(
                id: id,
                event: RuleEvent(
                    key: .init(rule: rule, device: device, time: Timestamp(microseconds: t)),
                    at: Timestamp(microseconds: at), value: value, text: text, isLate: late, ways: ways))
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

    /// The progress as JSON.
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
