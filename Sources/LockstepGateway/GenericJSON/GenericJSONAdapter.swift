import LockstepModel

/// Translates JSON messages by rules in the settings, for sensors whose format has no adapter of its own.
public struct GenericJSONAdapter: GatewayAdapter {
    /// The name of the format.
    public let name = "json"

    private let rules: [(filter: TopicFilter, rule: JSONRule)]

    /// Creates an adapter.
    public init(_ rules: [JSONRule]) { self.rules = rules.map { (TopicFilter($0.topic), $0) } }

    /// The topic filters of all rules.
    public var topicFilters: [String] { rules.map(\.rule.topic) }

    /// Translates a message by all rules whose topic filter matches.
    public func translate(_ message: ForeignMessage) throws(Refusal) -> Translation {
        guard case .topic(let topic) = message.origin, !message.payload.isEmpty else { return Translation() }
        let content = try JSONParser.parse(message.payload)
        var reports: [ForeignReport] = []
        for (_, rule) in rules.filter({ $0.filter.matches(topic) }) {
            guard let sender = rule.sender(of: topic), !sender.isEmpty else {
                throw Refusal(.unknownSender, "the topic has no level for '\(rule.device)'")
            }
            var report = ForeignReport(sender: ForeignName(name, [sender]))
            for item in try items(of: rule, in: content) {
                do { try add(item, rule, message.receivedAt, to: &report) } catch {
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
        _ item: JSONValue, _ rule: JSONRule, _ now: Timestamp, to report: inout ForeignReport
    ) throws(Refusal) {
        let time: Int64
        if let pointer = rule.time {
            guard let found = rule.time(in: item) else {
                throw Refusal(.malformed, "there is no time in \(rule.timeUnit.rawValue) at '\(pointer)'")
            }
            time = found
            let written = Timestamp(microseconds: found)
            report.writtenAt = max(report.writtenAt ?? written, written)
        } else {
            time = now.microseconds
        }
        var reading = Reading(rule.stream, at: time)
        for (name, column) in rule.columns.sorted(by: { $0.key < $1.key }) {
            switch column.path.value(in: item) {
            case nil, .null: break
            case .integer(let value): reading.set(name, Double(value) * column.factor + column.offset)
            case .real(let value): reading.set(name, value * column.factor + column.offset)
            case .bool(let value): reading.set(name, (value ? 1 : 0) * column.factor + column.offset)
            case .string(let word): reading.set(name, word: word)
            case .array, .object: throw Refusal(.malformed, "'\(column.path)' is neither a number nor a word")
            }
        }
        guard !reading.values.isEmpty else { throw Refusal(.malformed, "the message has none of the columns") }
        report.readings.append(reading)
    }
}
