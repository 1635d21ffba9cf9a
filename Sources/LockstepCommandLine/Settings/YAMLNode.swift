import CYAML

/// A node of a YAML document, with the number of its first line.
///
/// Scalars keep their text: they are not converted to numbers, booleans or null. Merge keys (`<<`) are ordinary keys.
/// An alias is replaced by the node that it refers to, including that node's line.
///
/// Implemented here with libyaml because Yams imports all of Foundation, which would more than double the size of a
/// static executable.
public struct YAMLNode: Sendable {
    /// A key of a mapping with its value.
    public struct Pair: Sendable {
        /// The key.
        public let key: YAMLNode
        /// The value.
        public let value: YAMLNode
    }

    /// The content of a node.
    public enum Content: Sendable {
        /// A text, without its quotes.
        case scalar(String)
        /// The items, in order.
        case sequence([YAMLNode])
        /// The pairs, in order. Keys may be repeated.
        case mapping([Pair])
    }

    /// The content of the node.
    public let content: Content
    /// The line number, from 1.
    public let line: Int
    /// The number of nesting levels, including this node.
    fileprivate let height: Int

    /// The pairs of a mapping; nil for any other node.
    var mapping: [Pair]? {
        if case .mapping(let pairs) = content { pairs } else { nil }
    }

    /// The text of a scalar; nil for any other node.
    public var scalar: String? {
        if case .scalar(let text) = content { text } else { nil }
    }

    /// Parses a text with at most one document.
    /// - Returns: the root node; nil if there is no document or it is empty.
    /// - Throws: ``YAMLError`` if the text is not valid YAML, contains a second document, or is nested too deeply.
    public static func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        try YAMLReader().read(text)
    }
}

/// An error in a YAML document.
public struct YAMLError: Error, Hashable, CustomStringConvertible {
    /// The line and column, from 1, and the problem. It never quotes the document, which may contain a password.
    public let description: String

    fileprivate init(_ problem: String, line: Int, column: Int) {
        description = "\(line):\(column): \(problem)"
    }

    fileprivate init(_ problem: String, at mark: yaml_mark_t) {
        self.init(problem, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}

/// A libyaml parser for one text.
private final class YAMLReader {
    /// The nesting limit: far more than settings need, and far less than the stack allows.
    private static let maxDepth = 100

    // libyaml requires stable addresses.
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let document = UnsafeMutablePointer<yaml_document_t>.allocate(capacity: 1)
    /// The nodes read so far, by their number in the document.
    private var nodes: [Int32: YAMLNode] = [:]
    /// The numbers of the nodes being read, the outermost first.
    private var path: [Int32] = []

    init() throws(YAMLError) {
        guard yaml_parser_initialize(parser) == 1 else { throw YAMLError("out of memory", line: 1, column: 1) }
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        document.deallocate()
    }

    func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        try Array(text.utf8).withUnsafeBufferPointer { bytes throws(YAMLError) in
            // The address of an empty buffer may be nil, which libyaml does not accept.
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
                guard root == nil else { throw YAMLError("the file contains more than one document", at: start) }
                root = next
            }
        }
    }

    private func failure(in bytes: UnsafeBufferPointer<UInt8>) -> YAMLError {
        let parser = parser.pointee
        let problem = parser.problem.map { String(cString: $0) } ?? "out of memory"
        guard parser.error != YAML_READER_ERROR else {
            // For characters that are not allowed, libyaml reports only the byte offset.
            let lines = String(decoding: bytes.prefix(Int(parser.problem_offset)), as: UTF8.self)
                .unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            return YAMLError(problem, line: lines.count, column: (lines.last?.count ?? 0) + 1)
        }
        guard let context = parser.context else { return YAMLError(problem, at: parser.problem_mark) }
        // A missing end quote is detected at the end of the file, so add the line of the opening quote.
        let beginning = "\(String(cString: context)), line \(parser.context_mark.line + 1)"
        return YAMLError("\(problem) (\(beginning))", at: parser.problem_mark)
    }

    /// Returns the node with this number; the root has number 1.
    private func node(_ number: Int32) throws(YAMLError) -> YAMLNode {
        if let known = nodes[number] { return known }
        guard let node = yaml_document_get_node(document, number)?.pointee else {
            throw YAMLError("the document is incomplete", line: 1, column: 1)
        }
        guard !path.contains(number) else {
            throw YAMLError("an alias refers to a node that contains it", at: node.start_mark)
        }
        // The target of an alias is not on the path but may be deep itself, so its height is checked below.
        guard path.count < Self.maxDepth else { throw Self.tooDeep(at: node.start_mark) }
        path.append(number)
        let (content, height) = try content(of: node)
        path.removeLast()
        guard height <= Self.maxDepth else { throw Self.tooDeep(at: node.start_mark) }
        let read = YAMLNode(content: content, line: Int(node.start_mark.line) + 1, height: height)
        nodes[number] = read
        return read
    }

    private static func tooDeep(at mark: yaml_mark_t) -> YAMLError {
        YAMLError("nested more than \(maxDepth) levels deep", at: mark)
    }

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
