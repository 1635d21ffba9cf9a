import LockstepMQTT

// The reaction to connection events, and the decision when to connect while the store is stalled.

extension TurnMachine {
    /// An event of the connection to the broker.
    enum LinkEvent {
        /// A connection was established.
        /// - Parameter devices: the number of devices whose states the broker may have lost.
        case connected(devices: Int)
        /// The connection was lost.
        /// - Parameter isTakenOver: whether another client has connected with the same client id.
        case disconnected(isTakenOver: Bool)
        /// A connection attempt failed.
        case failed(MQTTError.Code)
        /// The broker refused the subscription.
        case subscriptionRefused
        /// A QoS 1 publish was queued.
        case queued(id: Int32)
        /// The broker acknowledged a publish.
        case acknowledged(id: Int32)
        /// The wait before the next connection attempt is over.
        /// - Parameter hasTrialGroup: whether there are samples to test the store with.
        case reconnectDue(hasTrialGroup: Bool)
        /// The attempt to commit the samples to test the store with has ended.
        case triedCommit(succeeded: Bool)
    }

    /// The action that the loop carries out after a connection event.
    enum LinkAction: Equatable {
        case ignore
        /// Subscribe, restart the timeouts of all life cycles, and publish the collector's health.
        case startSession
        /// Log that another client uses the same client id.
        case reportTakeover
        /// Log that the connection was lost.
        case reportDisconnect
        /// Log that no connection can be established.
        case reportFailure
        /// Log that the broker refused the subscription.
        case reportRefusedSubscription
        /// Connect, with a last will that reports whether the store is stalled.
        case connect
        /// Commit the samples to test the store with.
        case tryCommit
        case stayDisconnected
    }

    /// The time after which a refused subscription is retried. Until then, the access rights may have been corrected,
    /// or a failed cluster node may have recovered.
    static let resubscribeInterval = Duration.seconds(5)

    /// Processes a connection event.
    /// - Returns: the action to carry out at once.
    mutating func handle(_ event: LinkEvent, at now: Instant) -> LinkAction {
        switch event {
        case .connected(let devices):
            isConnected = true
            linger = CommitLinger(at: now)
            resubscribeAt = nil
            lastReportedFailure = nil
            inFlight.removeAll()
            pendingStates = 0..<devices
            return .startSession
        case .disconnected(let isTakenOver):
            isConnected = false
            if isTakenOver { return .reportTakeover }
            // The collector drops the connection itself while the store is stalled. The stall is already logged.
            return isStalled ? .ignore : .reportDisconnect
        case .failed(let failure):
            defer { lastReportedFailure = failure }
            return failure == lastReportedFailure ? .ignore : .reportFailure
        case .subscriptionRefused:
            resubscribeAt = now + Self.resubscribeInterval
            return .reportRefusedSubscription
        case .queued(let id): inFlight.insert(id)
        case .acknowledged(let id): inFlight.remove(id)
        case .reconnectDue(let hasTrialGroup):
            // While the store is stalled, a connection would only receive messages that cannot be stored. One
            // connection is made to report the stall. After that, the collector connects when the store is writable
            // again.
            let needsTrial = isStalled && isStallReported && !hasHandedOver && hasTrialGroup
            return needsTrial ? .tryCommit : connect()
        case .triedCommit(let succeeded):
            isStalled = !succeeded
            return succeeded ? connect() : .stayDisconnected
        }
        return .ignore
    }

    private mutating func connect() -> LinkAction {
        isStallReported = isStalled
        return .connect
    }
}
