/// A validated name of a group, device, epoch or collector: 1 to 64 characters of `A-Z a-z 0-9 _ . -`.
///
/// These characters are valid in a level of an MQTT topic, in a file name and in an SQL string.
public protocol Identifier: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible
where RawValue == String {
    /// The kind of identifier for error messages: `device id`, `group`, …
    static var kind: String { get }

    /// Creates an identifier without validation. The caller guarantees that `rawValue` is valid.
    init(unchecked rawValue: String)
}

extension Identifier {
    /// Creates an identifier, or returns nil if `rawValue` is invalid.
    public init?(rawValue: String) {
        guard isIdentifier(rawValue) else { return nil }
        self.init(unchecked: rawValue)
    }

    /// Creates an identifier from `text`.
    /// - Throws: ``IdentifierError`` if `text` is empty, too long, or contains an invalid character.
    public init(validating text: String) throws(IdentifierError) {
        guard isIdentifier(text) else { throw IdentifierError(kind: Self.kind, text: text) }
        self.init(unchecked: text)
    }

    /// The identifier as text.
    public var description: String { rawValue }

    /// Returns whether `left` precedes `right` in the order of strings.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The error thrown for a string that is not a valid identifier.
public struct IdentifierError: Error, Hashable, CustomStringConvertible {
    /// The kind of identifier that was expected: `device id`, `group`, …
    public let kind: String
    /// The complete invalid string.
    public let text: String

    /// The invalid string, truncated to 80 characters, and the valid characters.
    public var description: String {
        let shown = text.count > 80 ? "\(text.prefix(80))…" : text
        let article = kind.first.map { "aeiou".contains($0) } == true ? "an" : "a"
        return "'\(shown)' is not \(article) \(kind): use 1 to 64 characters of A-Z a-z 0-9 _ . -"
    }
}

/// The id of a device, unique within its group.
public struct DeviceID: Identifier {
    /// The kind for error messages.
    public static let kind = "device id"
    /// The identifier as text.
    public let rawValue: String
    /// Creates an identifier without validation.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// The id of a group of devices, such as a site or a lab.
public struct GroupID: Identifier {
    /// The kind for error messages.
    public static let kind = "group"
    /// The identifier as text.
    public let rawValue: String
    /// Creates an identifier without validation.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// The default group, `default`.
    public static let standard = GroupID(unchecked: "default")
}

/// The id of a collector.
public struct CollectorID: Identifier {
    /// The kind for error messages.
    public static let kind = "collector id"
    /// The identifier as text.
    public let rawValue: String
    /// Creates an identifier without validation.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// The random id of one sequence of batch numbers of a device. A new one begins when numbers or times cannot continue: with
/// a new or restored outbox, another device, a step of the clock, and with each start of a gateway.
///
/// Batch numbers are unique within (device, epoch).
public struct Epoch: Identifier {
    /// The kind for error messages.
    public static let kind = "epoch"
    /// The identifier as text.
    public let rawValue: String
    /// Creates an identifier without validation.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// Returns a new epoch: 64 random bits as 16 hexadecimal digits.
    public static func random() -> Epoch {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Returns a new epoch whose random bits come from `generator`.
    public static func random(using generator: inout some RandomNumberGenerator) -> Epoch {
        let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
        return Epoch(unchecked: String(repeating: "0", count: 16 - digits.count) + digits)
    }
}

/// The full address of a device: its group and its device id.
///
/// Topics contain the address, and a store identifies devices by it.
public struct DeviceAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The group.
    public let group: GroupID
    /// The device within the group.
    public let device: DeviceID

    /// Creates an address.
    public init(group: GroupID, device: DeviceID) {
        self.group = group
        self.device = device
    }

    /// Parses `GROUP/DEVICE`. Returns nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let group = GroupID(rawValue: String(parts[0])),
            let device = DeviceID(rawValue: String(parts[1]))
        else { return nil }
        self.init(group: group, device: device)
    }

    /// The address as text: `GROUP/DEVICE`.
    public var description: String { "\(group)/\(device)" }

    /// Returns whether `left` precedes `right` in the order of group, then device.
    public static func < (left: DeviceAddress, right: DeviceAddress) -> Bool {
        (left.group, left.device) < (right.group, right.device)
    }
}

private func isIdentifier(_ text: String) -> Bool {
    let bytes = text.utf8
    return (1...64).contains(bytes.count)
        && bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
}
