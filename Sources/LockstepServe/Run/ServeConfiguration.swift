public import LockstepClickHouse
public import LockstepHTTP
public import LockstepMQTT
public import LockstepWire

/// The settings of the server.
public struct ServeConfiguration: Sendable {
    /// The address to listen on.
    public var listen = ListenAddress.standard
    /// The tokens of clients; nil to give everyone on this machine all rights.
    public var tokens: AccessTokens?
    /// Whether no client may send commands or acknowledge events.
    public var isReadOnly = false
    /// The PEM files of the server's certificate and its key, or nil for HTTP without TLS.
    public var tls: (certificateFile: String, keyFile: String)?
    /// The broker.
    public var broker: BrokerAddress
    /// The PEM files for the connection to the broker.
    public var brokerTLS = TLSOptions()
    /// The MQTT version; nil for automatic selection.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval in s.
    public var keepAlive = 15
    /// The prefix of all topics, with the streams that are known.
    public var root = TopicRoot.standard
    /// The store, or nil to serve live data only.
    public var store: StoreAddress?
    /// The folder with the files of the page, or nil if it was not found.
    public var pageFolder: String?
    /// The folder of the map library.
    public var leafletFolder = "/usr/share/javascript/leaflet"
    /// The address of map tiles with the placeholders `{z}`, `{x}` and `{y}`, or nil for a map without tiles.
    public var tiles: String?
    /// The address of the page with which a phone joins, `https://HOST/join` of a gateway; nil if there is none.
    public var joinURL: String?
    /// The maximum number of devices with metrics of their own.
    public var metricsDevices = MetricsText.defaultDeviceLimit
    /// The version of the program.
    public var version = ""
    /// The limits.
    public var limits = ServeLimits()
    /// The maximum time by which a sample may be ahead of the clock, in µs. Later ones are not shown.
    public var maxFuture: Int64 = 86_400_000_000

    /// Creates a configuration with defaults.
    public init(broker: BrokerAddress) { self.broker = broker }

    /// Returns whether a text is an address of map tiles, such as `https://tile.example.org/{z}/{x}/{y}.png`.
    public static func isTilesAddress(_ text: String) -> Bool {
        SecurityHeaders.origin(text) != nil && ["{z}", "{x}", "{y}"].allSatisfy(text.contains)
    }

    /// Returns the address of a gateway's page for phones, with the path `/join` if the text has none.
    /// - Returns: nil if the text is no address of HTTP or HTTPS, or contains a token, which every reader would see.
    public static func joinURL(_ text: String) -> String? {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix), text.utf8.count <= 500,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"'<>\\@".utf8.contains($0) }),
            parts.count == 1 || !parts[1].split(separator: "&").contains(where: { $0.hasPrefix("token=") })
        else { return nil }
        let rest = parts[0].dropFirst(scheme.count)
        guard let first = rest.utf8.first, first != UInt8(ascii: "/"), !rest.contains("?") else { return nil }
        let path = rest.drop { $0 != "/" }
        guard path.isEmpty || path == "/" else { return text }
        let host = rest.prefix { $0 != "/" }
        return scheme + host + "/join" + (parts.count == 2 ? "#" + parts[1] : "")
    }

    /// The reason why the configuration is unsafe, and what to do; nil if it is safe.
    public var safetyProblem: String? {
        guard !listen.isLoopback, tokens == nil else { return nil }
        return "--listen \(listen): without tokens, everyone who reaches this address could read all data and send "
            + "commands: name a file with tokens with --token-file, or listen on 127.0.0.1"
    }

    /// Checks that the server can start: that its certificate can be read, and its address can be used.
    /// - Throws: an error that says what to do.
    public func checkListener() async throws { try await HTTPListener.check(listen, tls: tls) }
}
