import LockstepCommandLine
import LockstepGateway
import LockstepModel

/// Reads the section `json` of the settings file: a list of rules.
enum JSONRuleSettings {
    static func rules(_ section: YAMLNode, streams: StreamCatalog, file: String) throws -> [JSONRule] {
        guard case .sequence(let items) = section.content else {
            throw CommandFailure("\(file):\(section.line): 'json' needs a list of rules")
        }
        return try items.map { try rule($0, streams, file: file) }
    }

    private static func rule(_ node: YAMLNode, _ streams: StreamCatalog, file: String) throws -> JSONRule {
        let fields = try Fields(node, "a rule of 'json'", file: file)
        try fields.checkKeys(["topic", "device", "stream", "items", "time", "time-unit", "columns"])
        let topic = try fields.required("topic", "sensors/+/air")
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        let isFilter = levels.enumerated().allSatisfy { index, level in
            level == "+" || (level == "#" && index == levels.count - 1) || !level.contains { "+#".contains($0) }
        }
        guard isFilter else { throw failure(node, "'\(topic)' is not a topic filter", file) }
        guard let columns = fields.node("columns"), case .mapping(let pairs) = columns.content, !pairs.isEmpty else {
            throw failure(node, "the rule has no 'columns' with lines of the form 'COLUMN: PATH'", file)
        }
        var rule = JSONRule(
            topic: topic, device: try fields.required("device", "/id"),
            stream: try fields.required("stream", "pressure"), columns: [:])
        guard let stream = streams.stream(ofChannel: rule.stream) else {
            throw failure(node, streams.unknownStreamMessage(for: rule.stream), file)
        }
        for pair in pairs {
            guard stream.columns.contains(where: { $0.name == pair.key.scalar }) else {
                throw failure(pair.key, "\(stream) has no column '\(pair.key.scalar ?? "")'", file)
            }
            rule.columns[pair.key.scalar ?? ""] = try column(pair.value, file: file)
        }
        if let items = fields.node("items") { rule.items = try pointer(items, file) }
        if let time = fields.node("time") { rule.time = try pointer(time, file) }
        if let unit = try fields.value("time-unit", { try choice($0, of: TimeUnit.self) }) { rule.timeUnit = unit }
        return rule
    }

    private static func column(_ node: YAMLNode, file: String) throws -> JSONRule.Column {
        if node.scalar != nil { return JSONRule.Column(path: try pointer(node, file)) }
        let fields = try Fields(node, "a column of 'json'", file: file)
        try fields.checkKeys(["path", "factor", "offset"])
        guard let path = fields.node("path") else { throw failure(node, "the column has no 'path'", file) }
        return JSONRule.Column(
            path: try pointer(path, file), factor: try fields.value("factor", number) ?? 1,
            offset: try fields.value("offset", number) ?? 0)
    }

    private static func number(_ text: String) throws -> Double {
        guard let number = Double(text), number.isFinite else { throw CommandFailure("'\(text)' is not a number") }
        return number
    }

    private static func pointer(_ node: YAMLNode, _ file: String) throws -> JSONPointer {
        guard let pointer = node.scalar.flatMap({ JSONPointer($0) }) else {
            throw failure(node, "a path is a JSON Pointer such as /data/temperature", file)
        }
        return pointer
    }

    private static func failure(_ node: YAMLNode, _ reason: String, _ file: String) -> CommandFailure {
        CommandFailure("\(file):\(node.line): json: \(reason)")
    }
}
