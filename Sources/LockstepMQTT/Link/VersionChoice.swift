/// Which version of MQTT to speak with a broker that may be an old one.
struct VersionChoice {
    private(set) var version: MQTTVersion
    private let isFixed: Bool
    /// Whether the broker itself has said that it does not speak 5.
    private var isSettled = false

    /// - Parameter version: the only one to speak; nil for 5, or 3.1.1 with a broker that does not speak it.
    init(_ version: MQTTVersion?) {
        self.version = version ?? .five
        isFixed = version != nil
    }

    /// No connection came about.
    mutating func didFail(_ code: MQTTError.Code) {
        guard !isFixed else { return }
        switch code {
        case .unsupportedVersion:
            isSettled = version == .five
            version = version == .five ? .three : .five
        case .connectionLost, .other:
            // A broker of an older version may just hang up, and so may one that is about to end; one that never
            // answered TCP says nothing of it.
            if !isSettled { version = version == .five ? .three : .five }
        default: break
        }
    }

    /// A connection that was up has ended: the next may be better.
    mutating func didLose() { if !isFixed, !isSettled { version = .five } }
}
