/// The address and port that the server listens on.
public struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// The IPv4 or IPv6 address or the name.
    public let host: String
    /// The port; 0 for any free port.
    public let port: Int

    /// 127.0.0.1:8080.
    public static let standard = ListenAddress(host: "127.0.0.1", port: 8080)

    private init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `127.0.0.1:8080`, `[::1]:8080`, `0.0.0.0:443`, or only a port for 127.0.0.1. Returns nil for other texts.
    public init?(_ text: String) {
        if let port = UInt16(text) {
            self.init(host: "127.0.0.1", port: Int(port))
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let name = HostName(String(text[..<colon]) + ":0")
        else { return nil }
        self.init(host: name.name, port: Int(port))
    }

    /// Whether only this machine can connect.
    public var isLoopback: Bool { HostName(urlHost)?.isLoopback ?? false }

    /// The address as in an URL.
    public var description: String { "\(urlHost):\(port)" }

    /// The host as in an URL.
    package var urlHost: String { host.contains(":") ? "[\(host)]" : host }
}
