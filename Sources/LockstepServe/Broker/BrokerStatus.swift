/// The state of the connection to the broker.
struct BrokerStatus: Hashable, Sendable {
    /// Whether the broker has accepted the connection and granted the subscription.
    var isConnected = false
    /// The reason why it is not connected, or nil.
    var problem: String? = "the connection is not established yet"
}
