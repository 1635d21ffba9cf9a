import LockstepModel

extension Rule {
    /// The placeholders of ``message``, in braces.
    package static let messagePlaceholders = ["rule", "group", "device", "value", "time"]
}

extension RuleEvent {
    /// Creates an event of a rule.
    init(_ rule: Rule, _ device: DeviceAddress?, time: Int64, at: Int64, value: Double?, isLate: Bool) {
        let key = Key(rule: rule.name, device: device, time: Timestamp(microseconds: time))
        let text: String
        let subject = device?.description ?? "collector"
        let number = value.map(shortNumber)
        if let message = rule.message {
            text = message.replacing("{rule}", with: rule.name)
                .replacing("{group}", with: device?.group.rawValue ?? "")
                .replacing("{device}", with: device?.device.rawValue ?? "collector")
                .replacing("{value}", with: number ?? "").replacing(
                    "{time}", with: key.time.short(at: Timestamp(microseconds: at)))
        } else {
            text = "\(subject): \(rule.name)" + (number.map { rule.condition.sentence($0) ?? " (\($0))" } ?? "")
        }
        self.init(
            key: key, at: Timestamp(microseconds: at), value: value, text: text, isLate: isLate, ways: rule.ways)
    }
}

extension Condition {
    /// Returns what a value that passes a limit means, such as `: pressure is 11 hPa, above 10 hPa`; nil for other conditions.
    fileprivate func sentence(_ number: String) -> String? {
        guard case .value(let condition) = self else { return nil }
        let column = condition.stream.columns[condition.column]
        let isCount = condition.aggregate == .count
        let unit = isCount || ["", "–"].contains(column.unit) ? "" : " \(column.unit)"
        let subject = condition.aggregate.map { "\($0.rawValue) of \(column.name)" } ?? column.name
        return
            ": \(subject) is \(number)\(unit), \(condition.isAbove ? "above" : "below") \(shortNumber(condition.limit))\(unit)"
    }
}

/// Returns a number with at most four decimals.
private func shortNumber(_ value: Double) -> String {
    let rounded = (value * 10_000).rounded() / 10_000
    return Int64(exactly: rounded).map(String.init) ?? "\(rounded)"
}
