import LockstepModel

/// What a rule remembers of a device.
public struct RuleState: Codable, Hashable, Sendable {
    /// Whether the condition holds and was counted. It has to end before it can start again.
    public var isActive = false
    /// The time since which the condition has held without having been counted, in µs since 1970.
    public var since: Int64?
    /// The time of the last event that was not late, in µs since 1970.
    public var notifiedAt: Int64?
    /// The time of the last late event, in µs since 1970.
    public var lateNotifiedAt: Int64?
    /// Whether the device is inside the place; nil if unknown.
    public var isInside: Bool?
    /// The local day of `total`, counted from 1970-01-01.
    public var day: Int64?
    /// The steps of that day.
    public var total: Double?

    /// Creates the state before the first sample.
    public init() {}

    /// Takes over the cool-downs of another state of the same rule: they do not depend on the order of the samples.
    mutating func takeCooldowns(of other: RuleState) {
        notifiedAt = other.notifiedAt
        lateNotifiedAt = other.lateNotifiedAt
    }

    /// Advances a condition with a start, an end and a minimum duration.
    /// - Returns: whether the condition is now complete.
    mutating func advance(to time: Int64, starts: Bool, ends: Bool, lasting: Int64) -> Bool {
        if isActive {
            if ends {
                isActive = false
                since = nil
            }
            return false
        }
        guard starts else {
            since = nil
            return false
        }
        let start = since ?? time
        since = start
        guard time - start >= lasting else { return false }
        isActive = true
        return true
    }
}

/// The state of a rule for a device: of its newest samples, and of the backlog before them.
public struct RuleSlot: Codable, Hashable, Sendable {
    /// The state after the newest sample.
    public var live = RuleState()
    /// The state from which the samples continue that arrive after newer ones: that before the last gap.
    public var late: RuleState?

    /// Creates the state before the first sample.
    public init() {}
}

/// A figure of the values in a sliding time span, kept in twenty parts.
struct ValueWindow: Sendable {
    private struct Part {
        var number: Int64
        var sum = 0.0
        var count = 0.0
        var min = Double.infinity
        var max = -Double.infinity
    }

    private let part: Int64
    private let span: Int64
    private var parts: [Part] = []
    private var first: Int64?

    init(span: Int64) {
        self.span = span
        part = Swift.max(1, span / 20)
    }

    /// Adds a value and returns the figure, or nil until the span has passed once since the first value.
    mutating func add(_ value: Double, at time: Int64, _ aggregate: ValueCondition.Aggregate) -> Double? {
        let number = time / part
        if parts.last?.number != number { parts.append(Part(number: number)) }
        let last = parts.count - 1
        parts[last].sum += value
        parts[last].count += 1
        parts[last].min = Swift.min(parts[last].min, value)
        parts[last].max = Swift.max(parts[last].max, value)
        while let oldest = parts.first, oldest.number <= number - 20 { parts.removeFirst() }
        let start = first ?? time
        first = start
        // After a gap the span has to pass again: the values in between are unknown.
        if parts.count == 1, time - start >= span { first = time }
        guard let first, time - first >= span - part else { return nil }
        let count = parts.reduce(0) { $0 + $1.count }
        let sum = parts.reduce(0) { $0 + $1.sum }
        switch aggregate {
        case .mean: return sum / count
        case .sum: return sum
        case .count: return count
        case .min: return parts.map(\.min).min()
        case .max: return parts.map(\.max).max()
        }
    }
}

/// The values of a stream's columns that change no state of any rule: most values are far from all limits.
struct QuietRange {
    private struct Column {
        let number: Int
        var low = -Double.infinity
        var high = Double.infinity
    }

    private var columns: [Column] = []
    /// The rules that have to see each sample.
    private(set) var others: [Int] = []
    /// The longest gap between two samples that changes nothing, in µs.
    private(set) var maxGap = Int64.max

    mutating func add(_ rule: Rule, _ index: Int, _ state: RuleState) {
        guard case .value(let condition) = rule.condition, condition.aggregate == nil,
            state.isActive || state.since == nil
        else {
            others.append(index)
            return
        }
        maxGap = min(maxGap, rule.lateAfter)
        let position: Int
        if let known = columns.firstIndex(where: { $0.number == condition.column }) {
            position = known
        } else {
            position = columns.count
            columns.append(Column(number: condition.column))
        }
        switch (condition.isAbove, state.isActive) {
        case (true, false): columns[position].high = min(columns[position].high, condition.limit)
        case (true, true): columns[position].low = max(columns[position].low, condition.clear.nextUp)
        case (false, false): columns[position].low = max(columns[position].low, condition.limit)
        case (false, true): columns[position].high = min(columns[position].high, condition.clear.nextDown)
        }
    }

    /// Returns whether all known values of some rows are in the range.
    func contains(_ block: SampleBlock, _ rows: Range<Int>) -> Bool {
        for column in columns {
            let (low, high) = (column.low, column.high)
            let isOutside = block.columns[column.number].withUnsafeBufferPointer { values in
                // A comparison with NaN is false, so unknown values are inside.
                rows.contains { values[$0] < low || values[$0] > high }
            }
            if isOutside { return false }
        }
        return true
    }
}

extension Rule {
    /// The placeholders of ``message``, in braces.
    package static let messagePlaceholders = ["rule", "group", "device", "value", "time"]
}

extension RuleEvent {
    init(_ rule: Rule, _ device: DeviceAddress?, time: Int64, at: Int64, value: Double?, isLate: Bool) {
        let key = Key(rule: rule.name, device: device, time: Timestamp(microseconds: time))
        let text: String
        let subject = device?.description ?? "collector"
        if let message = rule.message {
            text = message.replacing("{rule}", with: rule.name)
                .replacing("{group}", with: device?.group.rawValue ?? "")
                .replacing("{device}", with: device?.device.rawValue ?? "collector")
                .replacing("{value}", with: value.map(shortNumber) ?? "").replacing(
                    "{time}", with: key.time.short(at: Timestamp(microseconds: at)))
        } else {
            text = "\(subject): \(rule.name): \(rule.condition.sentence(value))"
        }
        self.init(
            key: key, at: Timestamp(microseconds: at), value: value, text: text, isLate: isLate,
            severity: rule.severity, ways: rule.ways)
    }
}
