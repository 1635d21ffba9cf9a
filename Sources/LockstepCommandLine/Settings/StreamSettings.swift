import LockstepModel

/// The section `streams` of a settings file: declarations of streams.
///
/// ```yaml
/// streams:
///   x/co2:
///     columns:
///       ppm: {kind: real, unit: ppm, aggregate: mean}
/// ```
struct StreamSettings {
    /// The name of the section.
    static let key = "streams"

    private(set) var catalog = StreamCatalog.builtIn
    /// The line of each declaration, by stream name.
    private(set) var lines: [String: Int] = [:]

    /// Reads the section.
    /// - Throws: ``CommandFailure`` for an invalid declaration. Its text has the file, the line and a suggestion.
    init(_ section: YAMLNode, file: String) throws {
        if section.scalar == "" { return }
        var declared: [SensorStream] = []
        for (name, node, line) in try StreamMapping(section, "streams", file: file).entries {
            let place = "\(file):\(line): stream '\(name)'"
            declared.append(try Self.stream(name, node, file: file, line: line))
            lines[name] = line
            do { catalog = try StreamCatalog(declared: declared) } catch { throw CommandFailure("\(place): \(error)") }
        }
    }

    private static func stream(_ name: String, _ node: YAMLNode, file: String, line: Int) throws -> SensorStream {
        let subject = "stream '\(name)'"
        let mapping = try StreamMapping(
            node, subject, file: file, keys: ["summary", "columns", "pauses-in-background"])
        var columns: [SensorStream.Column] = []
        if let section = mapping["columns"] {
            for (column, node, line) in try StreamMapping(section, "\(subject): columns", file: file).entries {
                columns.append(try Self.column(column, node, of: subject, file: file, line: line))
            }
        }
        let pauses = try mapping.bool("pauses-in-background") ?? false
        do {
            return try SensorStream(
                declaring: name, summary: try mapping.text("summary") ?? "", columns: columns,
                pausesInBackground: pauses)
        } catch let error as StreamDeclarationError {
            throw CommandFailure("\(file):\(line): \(subject): \(error)")
        }
    }

    private static func column(
        _ name: String, _ node: YAMLNode, of stream: String, file: String, line: Int
    ) throws -> SensorStream.Column {
        let subject = "\(stream): column '\(name)'"
        let mapping = try StreamMapping(
            node, subject, file: file, keys: ["kind", "unit", "aggregate", "words", "required", "summary"])
        do {
            return try SensorStream.Column(
                declaring: name,
                kind: try SensorStream.Kind(
                    name: try mapping.text("kind") ?? "real", words: try mapping.texts("words")),
                unit: try mapping.text("unit") ?? "", isRequired: try mapping.bool("required") ?? true,
                summary: try mapping.text("summary") ?? "",
                aggregate: try mapping.text("aggregate").map { name in try SensorStream.Aggregate(name: name) })
        } catch let error as StreamDeclarationError {
            throw CommandFailure("\(file):\(line): \(subject): \(error)")
        }
    }
}

/// A mapping in the section `streams`, with checked keys.
private struct StreamMapping {
    /// Key, value and line of each pair, in the order of the file.
    private(set) var entries: [(name: String, value: YAMLNode, line: Int)] = []
    private let subject: String
    private let file: String

    /// Reads a mapping.
    /// - Parameters:
    ///   - subject: the part of the section, for error messages.
    ///   - keys: the valid keys, or nil if any key is valid.
    init(_ node: YAMLNode, _ subject: String, file: String, keys: [String]? = nil) throws {
        self.subject = subject
        self.file = file
        // `name:` without a value is an empty mapping.
        if node.scalar == "" { return }
        guard case .mapping(let pairs) = node.content else {
            throw CommandFailure(
                "\(file):\(node.line): \(subject): expected 'name: value' pairs"
                    + (keys.map { " with the names \($0.joined(separator: ", "))" } ?? ""))
        }
        for pair in pairs {
            let name = pair.key.scalar ?? ""
            let place = "\(file):\(pair.key.line): \(subject)"
            if let first = entries.first(where: { $0.name == name }) {
                throw CommandFailure("\(place): '\(name)' occurs twice; the first is on line \(first.line)")
            }
            if let keys, !keys.contains(name) {
                throw CommandFailure("\(place): unknown key '\(name)'; valid keys are \(keys.joined(separator: ", "))")
            }
            entries.append((name, pair.value, pair.key.line))
        }
    }

    subscript(name: String) -> YAMLNode? { entries.first { $0.name == name }?.value }

    func text(_ name: String) throws -> String? {
        try self[name].map { node in
            guard let text = node.scalar else { throw failure(node, "'\(name)' must be a string") }
            return text
        }
    }

    func texts(_ name: String) throws -> [String]? {
        try self[name].map { node in
            guard case .sequence(let items) = node.content, items.allSatisfy({ $0.scalar != nil }) else {
                throw failure(node, "'\(name)' must be a list of strings, such as [open, closed]")
            }
            return items.compactMap(\.scalar)
        }
    }

    func bool(_ name: String) throws -> Bool? {
        try text(name).map { text in
            switch text {
            case "true", "yes": return true
            case "false", "no": return false
            default: throw failure(self[name], "'\(name)' must be true or false, not '\(text)'")
            }
        }
    }

    private func failure(_ node: YAMLNode?, _ reason: String) -> CommandFailure {
        CommandFailure("\(file):\(node?.line ?? 0): \(subject): \(reason)")
    }
}
