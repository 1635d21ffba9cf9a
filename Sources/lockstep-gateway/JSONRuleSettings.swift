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
        let values = try mapping(
            node, ["topic", "device", "stream", "items", "time", "time-unit", "columns"], file: file)
        func text(_ name: String) throws -> String? {
            guard let value = values[name] else { return nil }
            guard let text = value.scalar else { throw failure(value, "'\(name)' must be a text", file) }
            return text
        }
        func required(_ name: String) throws -> String {
            guard let text = try text(name), !text.isEmpty else {
                throw failure(node, "the rule has no '\(name)'", file)
            }
            return text
        }
        let topic = try required("topic")
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        let isFilter = levels.enumerated().allSatisfy { index, level in
            level == "+" || (level == "#" && index == levels.count - 1) || !level.contains { "+#".contains($0) }
        }
        guard isFilter else { throw failure(node, "'\(topic)' is not a topic filter", file) }
        guard let columns = values["columns"], case .mapping(let pairs) = columns.content, !pairs.isEmpty else {
            throw failure(node, "the rule has no 'columns' with lines of the form 'COLUMN: PATH'", file)
        }
        var rule = JSONRule(
            topic: topic, device: try required("device"), stream: try required("stream"), columns: [:])
        guard let stream = streams.stream(ofChannel: rule.stream) else {
            throw failure(node, streams.unknownStreamMessage(for: rule.stream), file)
        }
        for pair in pairs {
            guard stream.columns.contains(where: { $0.name == pair.key.scalar }) else {
                throw failure(pair.key, "\(stream) has no column '\(pair.key.scalar ?? "")'", file)
            }
            rule.columns[pair.key.scalar ?? ""] = try column(pair.value, file: file)
        }
        if let items = values["items"] { rule.items = try pointer(items, file) }
        if let time = values["time"] { rule.time = try pointer(time, file) }
        if let unit = try text("time-unit") {
            do { rule.timeUnit = try choice(unit, of: TimeUnit.self) } catch {
                throw failure(node, "\(error)", file)
            }
        }
        return rule
    }

    private static func column(_ node: YAMLNode, file: String) throws -> JSONRule.Column {
        if node.scalar != nil { return JSONRule.Column(path: try pointer(node, file)) }
        let values = try mapping(node, ["path", "factor", "offset"], file: file)
        guard let path = values["path"] else { throw failure(node, "the column has no 'path'", file) }
        func number(_ name: String, _ standard: Double) throws -> Double {
            guard let value = values[name] else { return standard }
            guard let number = value.scalar.flatMap(Double.init), number.isFinite else {
                throw failure(value, "'\(name)' must be a number", file)
            }
            return number
        }
        return JSONRule.Column(
            path: try pointer(path, file), factor: try number("factor", 1), offset: try number("offset", 0))
    }

    private static func pointer(_ node: YAMLNode, _ file: String) throws -> JSONPointer {
        guard let pointer = node.scalar.flatMap({ JSONPointer($0) }) else {
            throw failure(node, "a path is a JSON Pointer such as /data/temperature", file)
        }
        return pointer
    }

    private static func mapping(_ node: YAMLNode, _ keys: [String], file: String) throws -> [String: YAMLNode] {
        guard case .mapping(let pairs) = node.content else {
            throw failure(node, "expected 'name: value' pairs with the names \(keys.joined(separator: ", "))", file)
        }
        var values: [String: YAMLNode] = [:]
        for pair in pairs {
            let name = pair.key.scalar ?? ""
            guard keys.contains(name) else {
                throw failure(pair.key, "unknown key '\(name)'; valid keys are \(keys.joined(separator: ", "))", file)
            }
            guard values.updateValue(pair.value, forKey: name) == nil else {
                throw failure(pair.key, "'\(name)' occurs twice", file)
            }
        }
        return values
    }

    private static func failure(_ node: YAMLNode, _ reason: String, _ file: String) -> CommandFailure {
        CommandFailure("\(file):\(node.line): json: \(reason)")
    }
}
