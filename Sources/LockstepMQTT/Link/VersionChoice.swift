/// Selects the MQTT version for a broker that may not support MQTT 5.
struct VersionChoice {
    private(set) var version: MQTTVersion
    private let isFixed: Bool
    /// Whether the broker has reported that it does not support MQTT 5.
    private var isSettled = false

    /// - Parameter version: the only version to use; nil for 5, or 3.1.1 if the broker does not support 5.
    init(_ version: MQTTVersion?) {
        self.version = version ?? .five
        isFixed = version != nil
    }

    /// Handles a failed attempt to connect.
    mutating func didFail(_ code: MQTTError.Code) {
        guard !isFixed else { return }
        switch code {
        case .unsupportedVersion:
            isSettled = version == .five
            version = version == .five ? .three : .five
        case .connectionLost, .other:
            // An old broker may close the connection without a reason, but a broker that is shutting down does so, too:
            // alternate between the versions. A failed TCP connect or TLS handshake gives no information about them.
            if !isSettled { version = version == .five ? .three : .five }
        default: break
        }
    }

    /// Handles the end of an established connection: the next broker may support MQTT 5.
    mutating func didLose() { if !isFixed, !isSettled { version = .five } }
}
