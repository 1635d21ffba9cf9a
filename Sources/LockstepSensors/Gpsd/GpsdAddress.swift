/// The network address of gpsd.
public struct GpsdAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name or an IPv4 or IPv6 address, without brackets.
    public let host: String
    /// The TCP port.
    public let port: UInt16

    /// The default TCP port of gpsd, 2947.
    public static let standardPort: UInt16 = 2947

    /// Creates an address.
    public init(host: String = "localhost", port: UInt16 = GpsdAddress.standardPort) {
        self.host = host
        self.port = port
    }

    /// Parses `host`, `host:port`, `[address]` or `[address]:port`; nil if the text has another form.
    public init?(_ text: String) {
        var rest = Substring(text)
        var host: Substring
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[..<end].dropFirst()
            rest = rest[end...].dropFirst()
        } else {
            host = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(host.count)
        }
        if host.isEmpty, text.first == ":" { host = "localhost" }
        guard !host.isEmpty, !host.contains("/"), !host.contains(" ") else { return nil }
        var port = Self.standardPort
        if !rest.isEmpty {
            guard rest.first == ":", let number = UInt16(rest.dropFirst()), number > 0 else { return nil }
            port = number
        }
        self.init(host: String(host), port: port)
    }

    /// `host:port`, with an IPv6 address in brackets.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
