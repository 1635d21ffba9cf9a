/// The address of a phone whose app phyphox has remote access switched on.
public struct PhyphoxPhone: Sendable, Hashable, CustomStringConvertible {
    /// The name of the format, which begins the foreign names.
    static let formatName = "phyphox"
    /// The phone is asked at least every 15 s.
    static let silence = SilenceLimits(all: 120_000_000)

    /// The URL without a slash at the end: `http://192.168.0.12:8080`.
    public let url: String
    /// The host, and the port if the URL has one.
    public let authority: String

    /// Parses a URL.
    /// - Returns: nil if it is not the HTTP URL of a server, or has a user, a path or a query.
    public init?(_ text: String) {
        let schemes = ["http://", "https://"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0) }) else { return nil }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, rest.count <= 255,
            rest.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
                    UInt8(ascii: "["), UInt8(ascii: "]"):
                    true
                default: false
                }
            })
        else { return nil }
        url = scheme + rest
        authority = String(rest)
    }

    /// The URL.
    public var description: String { url }

    /// The name of the sender.
    public var sender: ForeignName { ForeignName(Self.formatName, [authority]) }
}
