/// One item of CBOR; of a container, of a text and of bytes only the head.
enum CBORItem: Equatable {
    /// −2⁶³…2⁶³ − 1.
    case integer(Int64)
    case float(Double)
    case bool(Bool)
    case null
    /// Where the bytes are.
    case bytes(Range<Int>)
    /// Where the text is; it is valid UTF-8.
    case text(Range<Int>)
    /// How many items follow.
    case array(Int)
    /// How many pairs of items follow.
    case map(Int)
    /// One item follows.
    case tag(UInt64)
}

/// Reads CBOR (RFC 8949) item by item, strictly: no indefinite lengths, no head longer than need be, no simple values
/// but true, false and null.
///
/// A length is held against the bytes that are there before anybody makes room for it.
struct CBORReader {
    private let buffer: UnsafeRawBufferPointer
    /// Where the next item begins.
    private(set) var offset: Int

    /// - Parameter buffer: has to outlive the reader.
    init(_ buffer: UnsafeRawBufferPointer, at offset: Int = 0) {
        self.buffer = buffer
        self.offset = offset
    }

    var isAtEnd: Bool { offset == buffer.count }

    /// - Throws: ``PayloadError`` where no item is.
    mutating func next() throws(PayloadError) -> CBORItem {
        let start = offset
        let first: UInt8 = try integer()
        guard let major = CBORMajor(rawValue: first >> 5) else { preconditionFailure("three bits have eight values") }
        if major == .simple { return try simple(first, at: start) }
        let argument = try argument(first & 0x1f, at: start)
        switch major {
        case .unsigned:
            guard let value = Int64(exactly: argument) else { throw invalid("an integer beyond 64 bits", at: start) }
            return .integer(value)
        case .negative:
            guard let value = Int64(exactly: argument) else { throw invalid("an integer beyond 64 bits", at: start) }
            return .integer(~value)
        case .bytes: return .bytes(try take(argument, at: start))
        case .text:
            let range = try take(argument, at: start)
            guard String(validating: buffer[range], as: UTF8.self) != nil else {
                throw invalid("a text that is not UTF-8", at: start)
            }
            return .text(range)
        case .array: return .array(try count(argument, bytesEach: 1, at: start))
        case .map: return .map(try count(argument, bytesEach: 2, at: start))
        case .tag, .simple: return .tag(argument)
        }
    }

    /// Passes over one item with all that is in it.
    mutating func skip() throws(PayloadError) {
        // Counted instead of called again, so that no nesting is too deep.
        var left = 1
        while left > 0 {
            left -= 1
            switch try next() {
            case .array(let count): left += count
            case .map(let count): left += 2 * count
            case .tag: left += 1
            case .integer, .float, .bool, .null, .bytes, .text: break
            }
        }
    }

    func text(_ range: Range<Int>) -> String { String(decoding: buffer[range], as: UTF8.self) }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[range]) }

    private mutating func simple(_ first: UInt8, at start: Int) throws(PayloadError) -> CBORItem {
        switch first {
        case CBORSimple.false: return .bool(false)
        case CBORSimple.true: return .bool(true)
        case CBORSimple.null: return .null
        case CBORSimple.float16: return .float(Double(Float16(bitPattern: try integer())))
        case CBORSimple.float32: return .float(Double(Float(bitPattern: try integer())))
        case CBORSimple.float64: return .float(Double(bitPattern: try integer()))
        default: throw invalid("a simple value that is neither true, false nor null", at: start)
        }
    }

    private mutating func argument(_ info: UInt8, at start: Int) throws(PayloadError) -> UInt64 {
        let (value, least): (UInt64, UInt64)
        switch info {
        case 0..<24: return UInt64(info)
        case 24: (value, least) = (UInt64(try integer() as UInt8), 24)
        case 25: (value, least) = (UInt64(try integer() as UInt16), 0x100)
        case 26: (value, least) = (UInt64(try integer() as UInt32), 0x1_0000)
        case 27: (value, least) = (try integer(), 0x1_0000_0000)
        default: throw invalid("an indefinite length", at: start)
        }
        guard value >= least else { throw invalid("a head that is longer than need be", at: start) }
        return value
    }

    private mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>() throws(PayloadError) -> Value {
        let size = MemoryLayout<Value>.size
        guard buffer.count - offset >= size else { throw invalid("the end in the middle of an item", at: offset) }
        defer { offset += size }
        return Value(bigEndian: buffer.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    private mutating func take(_ length: UInt64, at start: Int) throws(PayloadError) -> Range<Int> {
        let range = offset..<offset + (try count(length, bytesEach: 1, at: start))
        offset = range.upperBound
        return range
    }

    private func count(_ count: UInt64, bytesEach: Int, at start: Int) throws(PayloadError) -> Int {
        guard let count = Int(exactly: count), count <= (buffer.count - offset) / bytesEach else {
            throw invalid("a length beyond the end", at: start)
        }
        return count
    }

    private func invalid(_ what: String, at offset: Int) -> PayloadError {
        PayloadError("not the CBOR that is taken: \(what), at byte \(offset)")
    }
}
