import LockstepModel

/// The fields of a mapping in a YAML file.
package struct Fields {
    /// Key, value and line of each pair, in the order of the file.
    package let entries: [(key: String, node: YAMLNode, line: Int)]
    private let file: String
    private let line: Int
    /// What the mapping describes, for errors: `rule 'warm'`.
    private let subject: String

    /// Reads a mapping. `name:` without a value is an empty one.
    package init(_ node: YAMLNode, _ subject: String, file: String) throws {
        self.file = file
        self.subject = subject
        line = node.line
        var entries: [(key: String, node: YAMLNode, line: Int)] = []
        var lines: [String: Int] = [:]
        guard let pairs = node.scalar == "" ? [] : node.mapping else {
            throw CommandFailure("\(file):\(node.line): \(subject) is not a mapping: write it as 'key: value' lines")
        }
        for pair in pairs {
            guard let key = pair.key.scalar else {
                throw CommandFailure("\(file):\(pair.key.line): a key of \(subject) is not a text")
            }
            if let first = lines.updateValue(pair.key.line, forKey: key) {
                throw CommandFailure(
                    "\(file):\(pair.key.line): '\(key)' of \(subject) is written twice; the first is on line \(first)")
            }
            entries.append((key, pair.value, pair.key.line))
        }
        self.entries = entries
    }

    func has(_ key: String) -> Bool { node(key) != nil }

    package func node(_ key: String) -> YAMLNode? { entries.first { $0.key == key }?.node }

    func failure(_ key: String, _ problem: String) -> CommandFailure {
        CommandFailure("\(file):\(node(key)?.line ?? line): '\(key)' of \(subject): \(problem)")
    }

    func failure(_ problem: String) -> CommandFailure { CommandFailure("\(file):\(line): \(subject) \(problem)") }

    package func text(_ key: String, mayBeEmpty: Bool = false) throws -> String? {
        guard let node = node(key) else { return nil }
        guard let text = node.scalar, mayBeEmpty || !text.isEmpty else { throw failure(key, "expects a text") }
        return text
    }

    package func required(_ key: String, _ example: String) throws -> String {
        guard let text = try text(key) else { throw failure("has no '\(key)': add '\(key): \(example)'") }
        return text
    }

    func texts(_ key: String) throws -> [String] {
        guard let node = node(key) else { return [] }
        switch node.content {
        case .scalar(let text) where !text.isEmpty: return [text]
        case .sequence(let items) where !items.isEmpty && items.allSatisfy { $0.scalar?.isEmpty == false }:
            return items.compactMap(\.scalar)
        default: throw failure(key, "expects a text or a list of texts")
        }
    }

    package func value<Value>(_ key: String, _ parse: (String) throws -> Value) throws -> Value? {
        guard let text = try text(key) else { return nil }
        do { return try parse(text) } catch { throw failure(key, "\(error)") }
    }

    func values<Value>(_ key: String, _ parse: (String) throws -> Value) throws -> [Value] {
        let texts = try texts(key)
        do { return try texts.map(parse) } catch { throw failure(key, "\(error)") }
    }

    /// Reads a key that names a file with a secret in its first line.
    func secret(_ key: String) throws -> String? { try value(key, SecretFile.password) }

    /// Throws if there are other keys.
    package func checkKeys(_ known: [String]) throws {
        guard let entry = entries.first(where: { !known.contains($0.key) }) else { return }
        throw CommandFailure(
            "\(file):\(entry.line): unknown key '\(entry.key)' of \(subject); known keys: "
                + known.joined(separator: ", "))
    }
}
