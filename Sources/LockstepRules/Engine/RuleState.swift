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
