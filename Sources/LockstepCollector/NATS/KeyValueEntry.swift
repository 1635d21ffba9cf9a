/// A value of a bucket.
public struct KeyValueEntry: Hashable, Sendable {
    /// The value.
    public let value: [UInt8]
    /// The revision, which is higher for each later write of the bucket.
    public let revision: UInt64

    /// Creates an entry.
    public init(value: [UInt8], revision: UInt64) {
        self.value = value
        self.revision = revision
    }
}

/// Returns a text as a key: letters, digits, `_`, `-` and `/` stay, and every other byte becomes `=` with two digits.
///
/// NATS allows few characters in keys, and a dot separates levels. Different texts have different keys.
public func keyValueKey(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF")
    var key = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "/"):
            key.append(Character(Unicode.Scalar(byte)))
        default: key += "=\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }
    return key
}
