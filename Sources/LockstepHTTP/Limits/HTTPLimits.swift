/// The limits of connections and requests that keep one client from disturbing the others.
public struct HTTPLimits: Sendable {
    /// The maximum number of open connections. Further ones are answered with 503 and closed.
    public var connections = 1000
    /// The maximum number of open connections of one address. Further ones are answered with 429 and closed. It does not
    /// apply to this machine and to ``trustedProxies``.
    public var connectionsOfAddress: Int { max(1, connections / 4) }
    /// The reverse proxies whose field `X-Forwarded-For` names the client.
    public var trustedProxies = TrustedProxies.none
    /// The maximum size of a request body in bytes.
    public var body = 16_384
    /// The maximum size of one field of a request head, and of the target, in bytes.
    public var headField = 8192
    /// The maximum size of a request head in bytes.
    public var head = 32_768
    /// The time for the complete head of the first request of a connection.
    public var headTimeout = Duration.seconds(10)
    /// The time from the head of a request to its end.
    public var bodyTimeout = Duration.seconds(20)
    /// The time from an answer to the complete head of the next request.
    public var idleTimeout = Duration.seconds(75)
    /// The time that a client may leave an answer unread.
    public var writeTimeout = Duration.seconds(30)

    /// Creates the default limits.
    public init() {}
}
