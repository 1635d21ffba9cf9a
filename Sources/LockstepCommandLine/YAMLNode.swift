import CYAML

/// A node of a YAML document, and the line at which it begins.
///
/// Scalars are texts as they are written: no number, truth or null is made of them. Merge keys (`<<`) are keys like any
/// other. An alias stands for the node that it names, with its line; an anchor is set once.
public struct YAMLNode: Sendable {
    /// A key of a mapping, and its value.
    public struct Pair: Sendable {
        public let key: YAMLNode
        public let value: YAMLNode
    }

    /// What a node holds.
    public enum Content: Sendable {
        /// A text, without its quotes.
        case scalar(String)
        /// The items, in their order.
        case sequence([YAMLNode])
        /// The pairs as they are written: whether a key may come twice is the reader's to say.
        case mapping([Pair])
    }

    public let content: Content
    /// Counted from 1.
    public let line: Int
    /// How many nodes lie within each other, this one included.
    fileprivate let height: Int

    /// The text of a scalar; nil of anything else.
    public var scalar: String? {
        if case .scalar(let text) = content { text } else { nil }
    }

    /// Reads a text that holds one document, or none.
    /// - Returns: its root; nil where there is no document, or nothing in it.
    /// - Throws: ``YAMLError``
    public static func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        try YAMLReader().read(text)
    }
}

/// Why a text is no YAML document.
public struct YAMLError: Error, Hashable, CustomStringConvertible {
    /// Line and column, counted from 1, and what is wrong there; never what is written there, which may be a password.
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
    /// The nodes that are read, by their numbers in the document.
    private var nodes: [Int32: YAMLNode] = [:]
    /// Those that are being read, the outermost first.
    private var path: [Int32] = []

    init() {
        guard yaml_parser_initialize(parser) == 1 else { fatalError("no memory for a YAML parser") }
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
            var root: YAMLNode?
            while true {
                guard yaml_parser_load(parser, document) == 1 else { throw failure(in: bytes) }
                defer { yaml_document_delete(document) }
                guard let start = yaml_document_get_root_node(document)?.pointee.start_mark else { return root }
                nodes = [:]
                let next = try node(1)
                guard next.scalar != "" else { continue }
                guard root == nil else { throw YAMLError("a second document: only one is read", at: start) }
                root = next
            }
        }
    }

    /// What libyaml found wrong.
    private func failure(in bytes: UnsafeBufferPointer<UInt8>) -> YAMLError {
        let parser = parser.pointee
        let problem = parser.problem.map { String(cString: $0) } ?? "no memory to read it"
        guard parser.error != YAML_READER_ERROR else {
            // Of characters that are not allowed it says the byte only.
            let lines = String(decoding: bytes.prefix(Int(parser.problem_offset)), as: UTF8.self)
                .unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            return YAMLError(problem, line: lines.count, column: (lines.last?.count ?? 0) + 1)
        }
        guard let context = parser.context else { return YAMLError(problem, at: parser.problem_mark) }
        // A quote that is left open ends with the file.
        let beginning = "\(String(cString: context)), line \(parser.context_mark.line + 1)"
        return YAMLError("\(problem) (\(beginning))", at: parser.problem_mark)
    }

    /// - Parameter number: as pairs and items name nodes; the root is 1.
    private func node(_ number: Int32) throws(YAMLError) -> YAMLNode {
        if let known = nodes[number] { return known }
        guard let node = yaml_document_get_node(document, number)?.pointee else {
            fatalError("libyaml names a node \(number) that it does not have")
        }
        guard !path.contains(number) else {
            throw YAMLError("an alias stands inside of what it names", at: node.start_mark)
        }
        // What an alias names may be deep as well, and is never on the path.
        guard path.count < Self.deepest else { throw Self.tooDeep(at: node.start_mark) }
        path.append(number)
        let (content, height) = try content(of: node)
        path.removeLast()
        guard height <= Self.deepest else { throw Self.tooDeep(at: node.start_mark) }
        let read = YAMLNode(content: content, line: Int(node.start_mark.line) + 1, height: height)
        nodes[number] = read
        return read
    }

    private static func tooDeep(at mark: yaml_mark_t) -> YAMLError {
        YAMLError("nested more than \(deepest) deep", at: mark)
    }

    /// The content of a node, and its height.
    private func content(of node: yaml_node_t) throws(YAMLError) -> (YAMLNode.Content, height: Int) {
        switch node.type {
        case YAML_SEQUENCE_NODE:
            let stack = node.data.sequence.items
            let items = try UnsafeBufferPointer(start: stack.start, count: stack.top - stack.start)
                .map { item throws(YAMLError) in try self.node(item) }
            return (.sequence(items), 1 + (items.map(\.height).max() ?? 0))
        case YAML_MAPPING_NODE:
            let stack = node.data.mapping.pairs
            let pairs = try UnsafeBufferPointer(start: stack.start, count: stack.top - stack.start)
                .map { pair throws(YAMLError) in
                    YAMLNode.Pair(key: try self.node(pair.key), value: try self.node(pair.value))
                }
            return (.mapping(pairs), 1 + (pairs.map { max($0.key.height, $0.value.height) }.max() ?? 0))
        default:
            let scalar = node.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            return (.scalar(String(decoding: bytes, as: UTF8.self)), 1)
        }
    }
}
