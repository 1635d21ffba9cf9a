import CYAML

/// A node of a YAML document, and the line at which it begins.
///
/// Scalars are texts as they are written: no number, truth or null is made of them. Aliases stand for the node they
/// name; merge keys (`<<`) are keys like any other.
public struct YAMLNode: Sendable, Hashable {
    /// A key of a mapping with its value.
    public struct Pair: Sendable, Hashable {
        public let key: YAMLNode
        public let value: YAMLNode
    }

    public enum Content: Sendable, Hashable {
        case scalar(String)
        case sequence([YAMLNode])
        /// The pairs as they are written: whether a key may come twice is the reader's to say.
        case mapping([Pair])
    }

    public let content: Content
    /// Counted from 1.
    public let line: Int

    /// The text of a scalar.
    public var scalar: String? {
        if case .scalar(let text) = content { text } else { nil }
    }

    /// Reads a text that holds one document, or none.
    /// - Returns: its root; nil where there is none, or nothing but the beginning of a document.
    /// - Throws: ``YAMLError``
    public static func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        try YAMLReader().read(text)
    }
}

/// Why a text is no YAML document.
public struct YAMLError: Error, Hashable, CustomStringConvertible {
    /// Line and column, counted from 1, and what is wrong there.
    public let description: String

    fileprivate init(_ problem: String, line: Int, column: Int) {
        description = "\(line):\(column): \(problem)"
    }

    fileprivate init(_ problem: String, at mark: yaml_mark_t) {
        self.init(problem, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}

/// libyaml's parser around one text.
private final class YAMLReader {
    /// Far more than settings need, and far less than a stack holds.
    private static let deepest = 100

    /// Where libyaml expects them to stay.
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let document = UnsafeMutablePointer<yaml_document_t>.allocate(capacity: 1)
    /// The nodes that are read, by their numbers.
    private var nodes: [Int32: YAMLNode] = [:]
    /// Those that are being read, the outermost first.
    private var path: [Int32] = []

    init() {
        guard yaml_parser_initialize(parser) == 1 else { fatalError("no memory for a YAML parser") }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        document.deallocate()
    }

    func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        try Array(text.utf8).withUnsafeBufferPointer { bytes throws(YAMLError) in
            // Of an empty text it may be nil, which libyaml does not take.
            guard bytes.baseAddress != nil else { return nil }
            yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
            let root = try nextRoot(of: bytes)
            if root != nil, let second = try nextRoot(of: bytes) {
                throw YAMLError("a second document: only one is read", line: second.line, column: 1)
            }
            return root
        }
    }

    /// The root of the next document.
    private func nextRoot(of bytes: UnsafeBufferPointer<UInt8>) throws(YAMLError) -> YAMLNode? {
        guard yaml_parser_load(parser, document) == 1 else { throw failure(in: bytes) }
        defer { yaml_document_delete(document) }
        guard yaml_document_get_root_node(document) != nil else { return nil }
        nodes = [:]
        let root = try node(1)
        return root.scalar == "" ? nil : root
    }

    private func failure(in bytes: UnsafeBufferPointer<UInt8>) -> YAMLError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "no memory to read it"
        guard parser.pointee.error == YAML_READER_ERROR else {
            return YAMLError(problem, at: parser.pointee.problem_mark)
        }
        // Of characters that are not allowed libyaml says the byte only.
        let lines = bytes.prefix(Int(parser.pointee.problem_offset))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return YAMLError(problem, line: lines.count, column: (lines.last?.count ?? 0) + 1)
    }

    /// - Parameter number: as pairs and items name nodes; the root is 1.
    private func node(_ number: Int32) throws(YAMLError) -> YAMLNode {
        if let known = nodes[number] { return known }
        // A number that the document itself gave has a node.
        let node = yaml_document_get_node(document, number).unsafelyUnwrapped.pointee
        guard !path.contains(number) else {
            throw YAMLError("an alias stands inside of what it names", at: node.start_mark)
        }
        guard path.count < Self.deepest else {
            throw YAMLError("lists within lists, more than \(Self.deepest) deep", at: node.start_mark)
        }
        path.append(number)
        let read = YAMLNode(content: try content(of: node), line: Int(node.start_mark.line) + 1)
        path.removeLast()
        nodes[number] = read
        return read
    }

    private func content(of node: yaml_node_t) throws(YAMLError) -> YAMLNode.Content {
        switch node.type {
        case YAML_SEQUENCE_NODE:
            let items = node.data.sequence.items
            return .sequence(
                try UnsafeBufferPointer(start: items.start, count: items.top - items.start)
                    .map { item throws(YAMLError) in try self.node(item) })
        case YAML_MAPPING_NODE:
            let pairs = node.data.mapping.pairs
            return .mapping(
                try UnsafeBufferPointer(start: pairs.start, count: pairs.top - pairs.start)
                    .map { pair throws(YAMLError) in
                        YAMLNode.Pair(key: try self.node(pair.key), value: try self.node(pair.value))
                    })
        default:
            let scalar = node.data.scalar
            return .scalar(
                String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self))
        }
    }
}
