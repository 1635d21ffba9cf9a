public import LockstepModel

/// Translates JSON messages by rules in the settings, for sensors whose format has no adapter of its own.
public struct GenericJSONAdapter: GatewayAdapter {
    /// The name of the format.
    public let name = "json"

    private let rules: [(filter: TopicFilter, rule: JSONRule)]

    private let catalog: StreamCatalog

    /// Creates an adapter.
    /// - Parameter catalog: the streams, whose columns decide whether a text is a word or a number.
    public init(_ rules: [JSONRule], catalog: StreamCatalog = .builtIn) {
        self.rules = rules.map { (TopicFilter($0.topic), $0) }
        self.catalog = catalog
    }

    /// The topic filters of all rules.
    public var topicFilters: [String] { rules.map(\.rule.topic) }

    /// Translates a message by all rules whose topic filter matches.
    public func translate(_ message: ForeignMessage) throws(Refusal) -> Translation {
        guard case .topic(let topic) = message.origin, !message.payload.isEmpty else { return Translation() }
        let content = try ForeignJSON.parse(message.payload)
        var reports: [ForeignReport] = []
        for (_, rule) in rules.filter({ $0.filter.matches(topic) }) {
            guard let sender = rule.sender(of: topic), !sender.isEmpty else {
                throw Refusal(.unknownSender, "the topic has no level for '\(rule.device)'")
            }
            var report = ForeignReport(sender: ForeignName(name, [sender]))
            let parents = rule.items?.parents(in: content) ?? []
            for item in try items(of: rule, in: content) {
                do { try add(item, parents, rule, message.receivedAt, to: &report) } catch {
                    report.omissions.append(error.description)
                }
            }
            if report.readings.isEmpty, let first = report.omissions.first { throw Refusal(.malformed, first) }
            if !message.isRetained { report.presence = ForeignPresence(.foreground, reason: "message") }
            reports.append(report)
        }
        return Translation(reports)
    }

    private func items(of rule: JSONRule, in content: JSONValue) throws(Refusal) -> [JSONValue] {
        guard let pointer = rule.items else { return [content] }
        guard let items = pointer.value(in: content)?.array else {
            throw Refusal(.malformed, "there is no array at '\(pointer)'")
        }
        return items
    }

    private func add(
        _ item: JSONValue, _ parents: [JSONValue], _ rule: JSONRule, _ now: Timestamp, to report: inout ForeignReport
    ) throws(Refusal) {
        let time = try time(of: item, parents, rule)
        var reading = Reading(rule.stream, at: time.value ?? now.microseconds)
        var omissions: [String] = []
        for (name, column) in rule.columns.sorted(by: { $0.key < $1.key }) {
            guard let value = column.path.value(in: item), value != .null else { continue }
            switch converted(value, column, kind(of: name, in: rule)) {
            case .number(let number): reading.set(name, number)
            case .word(let word): reading.set(name, word: word)
            case nil:
                omissions.append("'\(column.path)' is \(value.excerpt), which is no value of the column '\(name)'")
            }
        }
        guard !reading.values.isEmpty else {
            throw Refusal(.malformed, omissions.first ?? "the message has none of the columns")
        }
        report.omissions += omissions
        if let written = time.value.map(Timestamp.init(microseconds:)) {
            report.writtenAt = max(report.writtenAt ?? written, written)
        }
        // Items without a time of their own are states of one instant: the last one counts.
        if time.isShared, report.replace(reading) {
            report.omissions.append("an item has the same time as a later one: add the time of each item")
        } else {
            report.readings.append(reading)
        }
    }

    /// Returns the time of an item, and whether it is that of an object around it.
    private func time(
        of item: JSONValue, _ parents: [JSONValue], _ rule: JSONRule
    ) throws(Refusal) -> (value: Int64?, isShared: Bool) {
        guard let pointer = rule.time else { return (nil, false) }
        let own = pointer.value(in: item)
        let shared = own == nil ? parents.lazy.compactMap { pointer.value(in: $0) }.first : nil
        do { return (try rule.timeUnit.microseconds(of: own ?? shared), own == nil) } catch {
            let advice =
                if case .otherUnit(_, _, let likely) = error { ": set 'time-unit: \(likely.rawValue)'" } else { "" }
            throw Refusal(.malformed, error.text("the time at '\(pointer)'") + advice)
        }
    }

    private func kind(of column: String, in rule: JSONRule) -> SensorStream.Kind? {
        catalog.stream(ofChannel: rule.stream)?.columns.first { $0.name == column }?.kind
    }

    /// Returns the value of a column, or nil if it cannot be read.
    private func converted(_ value: JSONValue, _ column: JSONRule.Column, _ kind: SensorStream.Kind?) -> Reading.Value?
    {
        if case .choice = kind { if let word = value.string { return .word(word) } }
        guard let number = value.bool.map({ $0 ? 1 : 0 }) ?? value.readableNumber else {
            return kind == nil ? value.string.map { .word($0) } : nil
        }
        let result = number * column.factor + column.offset
        return result.isFinite ? .number(result) : nil
    }
}
