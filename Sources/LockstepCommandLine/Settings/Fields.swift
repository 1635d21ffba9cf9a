import LockstepModel

/// The fields of a mapping in a rules file. Each field has to be read; the others are refused.
struct Fields {
    let file: String
    let line: Int
    /// What the mapping describes, for errors: `rule 'warm'`.
    let subject: String
    private var nodes: [String: YAMLNode] = [:]
    private var lines: [String: Int] = [:]
    private var unread: Set<String> = []

    init(_ node: YAMLNode, _ subject: String, file: String) throws {
        self.file = file
        self.subject = subject
        line = node.line
        guard case .mapping(let pairs) = node.content else {
            throw CommandFailure("\(file):\(node.line): \(subject) is not a mapping: write it as 'key: value' lines")
        }
        for pair in pairs {
            guard let key = pair.key.scalar else {
                throw CommandFailure("\(file):\(pair.key.line): a key of \(subject) is not a text")
            }
            guard nodes.updateValue(pair.value, forKey: key) == nil else {
                throw CommandFailure("\(file):\(pair.key.line): '\(key)' of \(subject) is written twice")
            }
            lines[key] = pair.key.line
            unread.insert(key)
        }
    }

    var keys: [String] { nodes.keys.sorted { (lines[$0] ?? 0, $0) < (lines[$1] ?? 0, $1) } }

    func has(_ key: String) -> Bool { nodes[key] != nil }

    func failure(_ key: String, _ problem: String) -> CommandFailure {
        CommandFailure("\(file):\(nodes[key]?.line ?? line): '\(key)' of \(subject): \(problem)")
    }

    func failure(_ problem: String) -> CommandFailure { CommandFailure("\(file):\(line): \(subject) \(problem)") }

    mutating func node(_ key: String) -> YAMLNode? {
        unread.remove(key)
        return nodes[key]
    }

    mutating func text(_ key: String) throws -> String? {
        guard let node = node(key) else { return nil }
        guard let text = node.scalar, !text.isEmpty else { throw failure(key, "expects a text") }
        return text
    }

    mutating func required(_ key: String, _ example: String) throws -> String {
        guard let text = try text(key) else { throw failure("has no '\(key)': add '\(key): \(example)'") }
        return text
    }

    mutating func texts(_ key: String) throws -> [String] {
        guard let node = node(key) else { return [] }
        switch node.content {
        case .scalar(let text) where !text.isEmpty: return [text]
        case .sequence(let items) where !items.isEmpty && items.allSatisfy { $0.scalar?.isEmpty == false }:
            return items.compactMap(\.scalar)
        default: throw failure(key, "expects a text or a list of texts")
        }
    }

    mutating func value<Value>(_ key: String, _ parse: (String) throws -> Value) throws -> Value? {
        guard let text = try text(key) else { return nil }
        do { return try parse(text) } catch { throw failure(key, "\(error)") }
    }

    mutating func values<Value>(_ key: String, _ parse: (String) throws -> Value) throws -> [Value] {
        let texts = try texts(key)
        do { return try texts.map(parse) } catch { throw failure(key, "\(error)") }
    }

    /// Reads a key that names a file with a secret in its first line.
    mutating func secret(_ key: String) throws -> String? { try value(key, SecretFile.password) }

    /// Throws if there are keys that were not read.
    func finish(_ known: [String]) throws {
        guard let key = unread.min(by: { (lines[$0] ?? 0) < (lines[$1] ?? 0) }) else { return }
        throw CommandFailure(
            "\(file):\(lines[key] ?? line): unknown key '\(key)' of \(subject); known keys: "
                + known.joined(separator: ", "))
    }
}
