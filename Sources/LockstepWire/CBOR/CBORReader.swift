/// A CBOR data item. Arrays, maps and tags are represented by their head, and strings by their range in the buffer.
package enum CBORItem: Equatable {
    /// An integer from −2⁶³ to 2⁶³ − 1.
    case integer(Int64)
    case float(Double)
    case bool(Bool)
    case null
    /// A byte string at this range of the buffer.
    case bytes(Range<Int>)
    /// A text string of valid UTF-8 at this range of the buffer.
    case text(Range<Int>)
    /// An array. This number of items follows.
    case array(Int)
    /// A map. This number of key-value pairs follows.
    case map(Int)
    /// A tag number. The tagged item follows.
    case tag(UInt64)
    /// A string, array or map of indefinite length. Its parts follow, and then ``end``.
    case indefinite(CBORMajor)
    /// The end of an item of indefinite length.
    case end
}

/// A strict pull parser for CBOR (RFC 8949).
///
/// In the form of Lockstep's own payloads, it rejects indefinite lengths, heads that are not in the shortest form, and simple
/// values other than true, false and null. Every length is checked against the remaining bytes, so that callers can safely allocate memory for it.
package struct CBORReader {
    private let buffer: UnsafeRawBufferPointer
    /// Whether to accept indefinite lengths, longer heads and `undefined`, which is read as null.
    private let acceptsAnyForm: Bool
    /// The offset of the next item.
    package private(set) var offset: Int

    /// - Parameters:
    ///   - buffer: the bytes to read; must outlive the reader.
    ///   - acceptsAnyForm: whether to accept every form of an item, not only that of Lockstep's own payloads.
    package init(_ buffer: UnsafeRawBufferPointer, at offset: Int = 0, acceptsAnyForm: Bool = false) {
        self.buffer = buffer
        self.acceptsAnyForm = acceptsAnyForm
        self.offset = offset
    }

    /// Whether all bytes are read.
    package var isAtEnd: Bool { offset == buffer.count }

    /// Reads the next item.
    /// - Throws: ``PayloadError`` if there is no valid item.
    package mutating func next() throws(PayloadError) -> CBORItem {
        let start = offset
        let first: UInt8 = try integer()
        guard let major = CBORMajor(rawValue: first >> 5) else { preconditionFailure("three bits have eight values") }
        if major == .simple { return try simple(first, at: start) }
        if acceptsAnyForm, first & 0x1f == 31, major.hasLength { return .indefinite(major) }
        let argument = try argument(first & 0x1f, at: start)
        switch major {
        case .unsigned:
            guard let value = Int64(exactly: argument) else {
                throw invalid("an integer outside the signed 64-bit range", at: start)
            }
            return .integer(value)
        case .negative:
            guard let value = Int64(exactly: argument) else {
                throw invalid("an integer outside the signed 64-bit range", at: start)
            }
            return .integer(~value)
        case .bytes: return .bytes(try consume(argument, at: start))
        case .text:
            let range = try consume(argument, at: start)
            guard String(validating: buffer[range], as: UTF8.self) != nil else {
                throw invalid("a text string that is not valid UTF-8", at: start)
            }
            return .text(range)
        case .array: return .array(try count(argument, bytesEach: 1, at: start))
        case .map: return .map(try count(argument, bytesEach: 2, at: start))
        case .tag, .simple: return .tag(argument)
        }
    }

    /// Skips the next item, including all nested items.
    /// - Throws: ``PayloadError`` if an item is not valid.
    package mutating func skip() throws(PayloadError) {
        // Count items instead of recursing, so that deep nesting cannot overflow the stack.
        var remaining = 1
        while remaining > 0 {
            remaining -= 1
            switch try next() {
            case .array(let count): remaining += count
            case .map(let count): remaining += 2 * count
            case .tag: remaining += 1
            case .integer, .float, .bool, .null, .bytes, .text, .end: break
            case .indefinite: throw invalid("an indefinite length", at: offset)
            }
        }
    }

    /// Returns the text string at `range`.
    package func text(_ range: Range<Int>) -> String { String(decoding: buffer[range], as: UTF8.self) }

    /// Returns the bytes at `range`.
    package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer[range])
    }

    private mutating func simple(_ first: UInt8, at start: Int) throws(PayloadError) -> CBORItem {
        switch first {
        case CBORSimple.false: return .bool(false)
        case CBORSimple.true: return .bool(true)
        case CBORSimple.null: return .null
        case CBORSimple.float16: return .float(Double(Float16(bitPattern: try integer())))
        case CBORSimple.float32: return .float(Double(Float(bitPattern: try integer())))
        case CBORSimple.float64: return .float(Double(bitPattern: try integer()))
        case CBORSimple.undefined where acceptsAnyForm: return .null
        case CBORSimple.break where acceptsAnyForm: return .end
        default: throw invalid("a simple value other than true, false or null", at: start)
        }
    }

    /// Reads the argument of an item from `info`, the five low bits of its first byte, and the bytes that follow.
    private mutating func argument(_ info: UInt8, at start: Int) throws(PayloadError) -> UInt64 {
        let (value, minimum): (UInt64, UInt64)
        switch info {
        case 0..<24: return UInt64(info)
        case 24: (value, minimum) = (UInt64(try integer() as UInt8), 24)
        case 25: (value, minimum) = (UInt64(try integer() as UInt16), 0x100)
        case 26: (value, minimum) = (UInt64(try integer() as UInt32), 0x1_0000)
        case 27: (value, minimum) = (try integer(), 0x1_0000_0000)
        default: throw invalid("an indefinite length or reserved additional information", at: start)
        }
        guard value >= minimum || acceptsAnyForm else {
            throw invalid("a head that is not in the shortest form", at: start)
        }
        return value
    }

    /// Reads a big-endian integer.
    private mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>() throws(PayloadError) -> Value {
        let size = MemoryLayout<Value>.size
        guard buffer.count - offset >= size else { throw invalid("the payload ends within an item", at: offset) }
        defer { offset += size }
        return Value(bigEndian: buffer.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// Skips `length` bytes and returns their range.
    private mutating func consume(_ length: UInt64, at start: Int) throws(PayloadError) -> Range<Int> {
        let range = offset..<offset + (try count(length, bytesEach: 1, at: start))
        offset = range.upperBound
        return range
    }

    /// Returns `count` as an `Int` if that number of items, each of at least `bytesEach` bytes, fits in the remaining
    /// bytes.
    private func count(_ count: UInt64, bytesEach: Int, at start: Int) throws(PayloadError) -> Int {
        guard let count = Int(exactly: count), count <= (buffer.count - offset) / bytesEach else {
            throw invalid("a length beyond the end of the payload", at: start)
        }
        return count
    }

    private func invalid(_ reason: String, at offset: Int) -> PayloadError {
        PayloadError("invalid or unsupported CBOR: \(reason), at byte \(offset)")
    }
}
