public import LockstepModel

/// Something that a rule notifies.
public struct RuleEvent: Sendable, Hashable {
    /// The name of the rule.
    public var rule: String
    /// The device, or nil for an event of the collector's machine.
    public var device: DeviceAddress?
    /// When it happened: the time of the sample or transition that completed the condition.
    public var time: Timestamp
    /// When it was detected, on the collector's clock.
    public var at: Timestamp
    /// The value that completed the condition, if there is one.
    public var value: Double?
    /// The text for people.
    public var text: String
    /// Whether the sample arrived late.
    public var isLate: Bool
    /// The names of the ways out.
    public var ways: [String]

    /// Creates an event of a rule.
    init(_ rule: Rule, _ device: DeviceAddress?, time: Int64, at: Int64, value: Double?, isLate: Bool) {
        self.rule = rule.name
        self.device = device
        self.time = Timestamp(microseconds: time)
        self.at = Timestamp(microseconds: at)
        self.value = value
        self.isLate = isLate
        ways = rule.ways
        let subject = device?.description ?? "collector"
        let number = value.map(shortNumber)
        if let message = rule.message {
            text = message.replacing("{rule}", with: rule.name)
                .replacing("{group}", with: device?.group.rawValue ?? "")
                .replacing("{device}", with: device?.device.rawValue ?? "collector")
                .replacing("{value}", with: number ?? "").replacing("{time}", with: "\(self.time)")
        } else {
            text = "\(subject): \(rule.name)" + (number.map { " (\($0))" } ?? "")
        }
    }
}

/// Returns a number with at most four decimals.
private func shortNumber(_ value: Double) -> String {
    let rounded = (value * 10_000).rounded() / 10_000
    return Int64(exactly: rounded).map(String.init) ?? "\(rounded)"
}
