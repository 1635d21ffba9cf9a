/// The settings of a mosquitto of a system on one machine, from the configuration that Lockstep ships.
public struct BrokerSettings: Sendable {
    /// The port.
    public var port: UInt16
    /// The address to listen on; nil for all addresses.
    public var address: String?
    /// The folder of its database, with a slash at its end.
    public var folder: String
    /// The user that it runs as: that of this process. As root, mosquitto would switch to a user who cannot write to the
    /// folder, and whose process would survive this one.
    public var user: String

    /// Creates settings.
    public init(port: UInt16, address: String? = "127.0.0.1", folder: String, user: String) {
        self.port = port
        self.address = address
        self.folder = folder
        self.user = user
    }

    /// Returns the text of the settings file.
    /// - Parameter shipped: the text of `broker-config/development.conf`.
    public func text(from shipped: String) -> String {
        let replaced = ["listener", "persistence_location", "user"]
        let lines = shipped.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            !replaced.contains { line.hasPrefix($0 + " ") } && !line.hasPrefix("#")
        }
        // Without an address, mosquitto listens on all of them, IPv6 included.
        return
            (lines.map(String.init).filter { !$0.isEmpty } + [
                "listener \(port)" + (address.map { " \($0)" } ?? ""), "persistence_location \(folder)", "user \(user)",
                // Each program logs its own connections.
                "connection_messages false",
            ]).joined(separator: "\n") + "\n"
    }
}
