/// The options of a connection to a NATS cluster.
public struct NATSOptions: Hashable, Sendable {
    /// The servers. Each connection uses one that answers.
    public var servers: NATSServers
    /// The name of the connection in the server's reports.
    public var name: String
    /// The user name, if any.
    public var user: String?
    /// The password of the user, if any.
    public var password: String?
    /// The path of a PEM file with the trusted CA certificates; nil for those of the operating system.
    public var authorityFile: String?
    /// The path of the PEM file of the client certificate, if any.
    public var certificateFile: String?
    /// The path of the PEM file of the private key of the client certificate, if any.
    public var keyFile: String?
    /// The maximum time to wait for a connection to one server, in ms.
    public var connectTimeout: Int64 = 1000
    /// The maximum time to wait for an answer, in ms.
    public var requestTimeout: Int64 = 2000

    /// Creates options.
    public init(servers: NATSServers, name: String) {
        self.servers = servers
        self.name = name
    }
}
