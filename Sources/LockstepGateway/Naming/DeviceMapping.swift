public import LockstepModel

/// Maps the names of foreign senders to addresses of devices.
///
/// A name in ``entries`` has the address given there. Any other name is refused, or, if ``acceptsAny`` is set, becomes
/// the device id: its parts joined with `-`, with `_` for each character that an id cannot contain.
public struct DeviceMapping: Sendable {
    /// The addresses of known senders, by their foreign names.
    public var entries: [String: DeviceAddress]
    /// Whether senders that are not in ``entries`` are accepted.
    public var acceptsAny: Bool
    /// The group of senders that are not in ``entries``.
    public var group: GroupID
    /// The group of senders that give themselves an address and are not in ``entries``.
    public var claimedGroup = GroupID(unchecked: "phones")

    /// Creates a mapping.
    public init(entries: [String: DeviceAddress] = [:], acceptsAny: Bool = false, group: GroupID = .standard) {
        self.entries = entries
        self.acceptsAny = acceptsAny
        self.group = group
    }

    /// Returns the address of a sender.
    /// - Parameter claimed: the address that the sender gave itself. It counts only for a sender that is not in
    ///   ``entries``, and only in ``claimedGroup``.
    /// - Throws: ``Refusal`` of kind `unknownSender`, or `nameTaken` if the address belongs to another entry.
    public func address(of sender: ForeignName, claimed: DeviceAddress? = nil) throws(Refusal) -> DeviceAddress {
        let name = sender.description
        if let known = entries[name] { return known }
        guard acceptsAny else {
            throw Refusal(
                .unknownSender,
                "the sender '\(name.prefix(200))' is unknown: add it to the setting 'map', or use --accept any")
        }
        if let claimed {
            guard claimed.group == claimedGroup else {
                throw Refusal(
                    .unknownSender,
                    "the sender '\(name.prefix(200))' may not join the group '\(claimed.group)': add it to the setting "
                        + "'map', or use the group '\(claimedGroup)'")
            }
            return try unreserved(claimed, for: name)
        }
        let characters = sender.parts.joined(separator: "-").unicodeScalars.map { scalar in
            Self.isValid(scalar) ? Character(scalar) : "_"
        }
        guard let device = DeviceID(rawValue: String(characters)) else {
            throw Refusal(
                .unknownSender,
                "the name '\(name.prefix(200))' is empty or too long for a device id: add it to the setting 'map'")
        }
        return try unreserved(DeviceAddress(group: group, device: device), for: name)
    }

    /// Returns an address, unless ``entries`` gives it to another sender.
    private func unreserved(_ address: DeviceAddress, for name: String) throws(Refusal) -> DeviceAddress {
        guard !entries.values.contains(address) else {
            throw Refusal(
                .nameTaken,
                "'\(name.prefix(200))' would be the device \(address), which the setting 'map' gives to another sender")
        }
        return address
    }

    /// Whether a sender has an entry of its own, so that it may share an address with another sender.
    public func isExplicit(_ sender: ForeignName) -> Bool { entries[sender.description] != nil }

    private static func isValid(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", "_", ".", "-": true
        default: false
        }
    }

    /// Parses the address of an entry of the settings: `family/alice`.
    /// - Throws: ``Refusal``, or `IdentifierError` for an invalid id.
    public static func address(_ text: String) throws -> DeviceAddress {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw Refusal(.malformed, "'\(text)' is not an address: use GROUP/DEVICE") }
        return DeviceAddress(
            group: try GroupID(validating: String(parts[0])), device: try DeviceID(validating: String(parts[1])))
    }
}
