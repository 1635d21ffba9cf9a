/// Writes CBOR (RFC 8949) with the shortest heads, definite lengths, and floats in the shortest lossless form.
///
/// After the head of an array or map, the caller must write exactly the number of items that the head declares.
struct CBORWriter {
    private(set) var bytes: [UInt8] = []

    init(reservingCapacity capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Writes the head of a map with `count` key-value pairs.
    mutating func map(_ count: Int) { head(.map, UInt64(count)) }
    /// Writes the head of an array with `count` items.
    mutating func array(_ count: Int) { head(.array, UInt64(count)) }
    /// Writes a tag. The tagged item must follow.
    mutating func tag(_ number: UInt64) { head(.tag, number) }
    mutating func bool(_ value: Bool) { bytes.append(value ? CBORSimple.true : CBORSimple.false) }
    mutating func null() { bytes.append(CBORSimple.null) }

    mutating func integer(_ value: Int64) {
        if value >= 0 { head(.unsigned, UInt64(value)) } else { head(.negative, UInt64(~value)) }
    }

    mutating func text(_ text: String) {
        head(.text, UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func float(_ value: Double) {
        if Double(Float16(value)) == value {
            bytes.append(CBORSimple.float16)
            append(Float16(value).bitPattern.bigEndian)
        } else if Double(Float(value)) == value {
            bytes.append(CBORSimple.float32)
            append(Float(value).bitPattern.bigEndian)
        } else {
            bytes.append(CBORSimple.float64)
            append(value.bitPattern.bigEndian)
        }
    }

    /// Writes a byte string of `count` bytes, which `write` must append.
    mutating func byteString(_ count: Int, write: (inout [UInt8]) -> Void) {
        head(.bytes, UInt64(count))
        let start = bytes.count
        write(&bytes)
        assert(bytes.count == start + count, "the length of a byte string must match its head")
    }

    private mutating func head(_ major: CBORMajor, _ argument: UInt64) {
        let type = major.rawValue << 5
        switch argument {
        case 0..<24: bytes.append(type | UInt8(argument))
        case 24...0xff:
            bytes.append(type | 24)
            bytes.append(UInt8(argument))
        case 0x100...0xffff:
            bytes.append(type | 25)
            append(UInt16(argument).bigEndian)
        case 0x1_0000...0xffff_ffff:
            bytes.append(type | 26)
            append(UInt32(argument).bigEndian)
        default:
            bytes.append(type | 27)
            append(argument.bigEndian)
        }
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
    }
}

/// The CBOR major types: the three most significant bits of an item's first byte.
package enum CBORMajor: UInt8, Sendable {
    case unsigned, negative, bytes, text, array, map, tag, simple

    /// Whether an item has a length, which may be indefinite.
    var hasLength: Bool { [.bytes, .text, .array, .map].contains(self) }
}

/// The first bytes of items of major type 7.
enum CBORSimple {
    static let `false`: UInt8 = 0xf4
    static let `true`: UInt8 = 0xf5
    static let null: UInt8 = 0xf6
    static let undefined: UInt8 = 0xf7
    static let float16: UInt8 = 0xf9
    static let float32: UInt8 = 0xfa
    static let float64: UInt8 = 0xfb
    static let `break`: UInt8 = 0xff
}
