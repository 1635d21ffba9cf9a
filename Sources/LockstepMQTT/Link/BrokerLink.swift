public import LockstepModel

/// Keeps a program connected to its broker: it connects, and reconnects with exponential backoff and jitter. After a
/// failure, it uses the next of the broker's nodes. If the host of a node has several addresses, it uses the first one that
/// answers. A connection that delivered something before it was lost resets the backoff, and one after failed attempts lowers it.
///
/// Use it from a loop on one thread: call ``wait(until:)``, then ``read(limit:while:)``, then ``write()``. Only the TCP
/// and TLS connect, which may take minutes, runs on another thread.
public final class BrokerLink {
    /// An event of the link.
    public enum Event: Sendable {
        /// The broker accepted the connection.
        case connected(MQTTVersion, sessionPresent: Bool)
        /// An established connection has ended.
        case disconnected(MQTTError, retryIn: Duration)
        /// An attempt to connect has failed, or has waited for an answer of the server for 5 s and continues to wait.
        case failed(MQTTError, retryIn: Duration)
        /// The broker acknowledged or refused a message with QoS 1. It may also report that a message with QoS 0 was
        /// written.
        case published(id: Int32, refusal: MQTTError?)
        /// The broker granted or refused a subscription.
        case subscribed(id: Int32, isGranted: Bool)
    }

    private enum State {
        /// Not connected, waiting for the next attempt.
        case waiting(until: ContinuousClock.Instant)
        case connecting(Attempt<AddressRace.Winner>, until: ContinuousClock.Instant)
        /// Connected by TCP, waiting for the broker's CONNACK.
        case handshaking(MQTTConnection, until: ContinuousClock.Instant)
        case up(MQTTConnection)
        case stopped
    }

    /// Wakes the loop that uses the link.
    public let wakeup: Wakeup
    /// Handles received messages; called from within ``read(limit:while:)``. Set it before the first read, because each
    /// connection copies it when it is established.
    public var onMessage: ((IncomingMessage) -> Void)?
    /// Returns whether to connect now; called before each attempt. If it returns false, the link waits for the next
    /// backoff delay.
    public var mayConnect: () -> Bool = { true }
    /// The MQTT version of the current connection or the next attempt.
    public var version: MQTTVersion { choice.version }

    /// The addresses of the broker's host that had not answered when another one did, at the current or last connection.
    public private(set) var unansweredAddresses: [String] = []
    private var reportedAddresses: [String] = []
    var addresses = AddressMemory.shared

    private let makeOptions: (MQTTVersion) -> MQTTOptions
    private var choice: VersionChoice
    /// The maximum time to establish TCP and TLS if the broker has several nodes: a machine that is down does not answer
    /// at all, and the system tries for minutes. With one node, the system decides.
    var connectLimit = defaultConnectLimit
    /// The maximum time to wait for the CONNACK, with one node and with several.
    var handshakeLimits = defaultHandshakeLimits
    /// The time without a CONNACK after which it is reported that the server does not answer.
    var silenceLimit = Duration.seconds(5)
    /// When to report it; nil if it was reported.
    private var silenceReport: ContinuousClock.Instant?
    /// The duration from which a connection resets the backoff although it delivered nothing.
    private static let stableTime = Duration.seconds(10)
    private static let defaultConnectLimit = Duration.seconds(5)
    private static let defaultHandshakeLimits = (one: Duration.seconds(20), several: Duration.seconds(8))

    /// Returns the maximum time in which a node that is running accepts a connection, for a broker with this number of nodes.
    public static func attemptLimit(nodes: Int) -> Duration {
        defaultConnectLimit + (nodes > 1 ? defaultHandshakeLimits.several : defaultHandshakeLimits.one)
    }

    /// The end of the validity of the certificate that the broker has presented last, in µs since 1970; nil if it is unknown.
    public private(set) var certificateExpiry: Int64?

    /// Which node to use, among the links that share it.
    private let node: NodeChoice
    /// The node of the current connection or attempt, see ``NodeChoice/current``.
    private var nodeNumber = 0
    private var hasSeveralNodes = false
    private var backoff: Backoff
    private let takeoverDelay: Duration
    /// Whether an attempt to connect has failed since the last connection.
    private var hasFailed = false
    private var generator = SystemRandomNumberGenerator()
    private var state: State
    private var nextKeepAlive = ContinuousClock.now
    private var attemptStart = ContinuousClock.now
    private var upSince = ContinuousClock.now
    private var takeover = TakeoverDetector()
    /// Whether a takeover is detected by connecting to the broker, which can block for 0.3 s, or longer on a slow link. A group of many links
    /// turns this off, because its other connections would time out meanwhile.
    var probesBroker = true
    /// The broker's address, to check whether it still listens after the connection is lost.
    private var peer: PeerAddress?

    /// Creates a link. It starts to connect with the first ``read(limit:while:)``.
    /// - Parameters:
    ///   - wakeup: wakes the loop when an attempt to connect is finished.
    ///   - version: the MQTT version; nil for 5, or 3.1.1 if the broker does not support 5.
    ///   - backoff: the delays between attempts.
    ///   - takeoverDelay: the delay after another client with the same id has ended the connection; nil for the longest
    ///     delay of `backoff`.
    ///   - node: shared by links that use the same broker after each other, so that each begins with the last node that
    ///     was good; nil to begin with the first node.
    ///   - makeOptions: returns the options of each attempt.
    public init(
        wakeup: Wakeup, version: MQTTVersion?, backoff: Backoff = Backoff(), takeoverDelay: Duration? = nil,
        node: NodeChoice? = nil,
        makeOptions: @escaping (MQTTVersion) -> MQTTOptions
    ) {
        self.wakeup = wakeup
        choice = VersionChoice(version)
        self.backoff = backoff
        self.takeoverDelay = takeoverDelay ?? backoff.maximum
        self.node = node ?? NodeChoice()
        self.makeOptions = makeOptions
        state = .waiting(until: .now)
    }

    /// Whether the broker has accepted the connection.
    public var isUp: Bool {
        if case .up = state { true } else { false }
    }

    /// The size of the largest packet that the broker accepts, in bytes; nil if it sets no limit or the link is not up.
    public var maxPacketSize: Int? {
        if case .up(let connection) = state { connection.maxPacketSize } else { nil }
    }

    /// Whether the broker keeps retained messages. A broker that does not use MQTT 5 does not tell if it keeps none.
    public var isRetainAvailable: Bool {
        if case .up(let connection) = state { connection.isRetainAvailable } else { true }
    }

    /// The maximum number of published messages with QoS 1 that the broker has not acknowledged; nil if it sets no limit, does
    /// not use MQTT 5, or the link is not up.
    public var maxInFlight: Int? {
        if case .up(let connection) = state { connection.maxInFlight } else { nil }
    }

    /// Returns ``unansweredAddresses``, or none if they were returned before: for a log entry after a connect.
    public func takeUnansweredAddresses() -> [String] {
        guard unansweredAddresses != reportedAddresses, !unansweredAddresses.isEmpty else { return [] }
        reportedAddresses = unansweredAddresses
        return unansweredAddresses
    }

    /// The descriptor to poll, and whether to poll for writing; nil while there is no connection.
    var socket: (descriptor: Int32, wantsWrite: Bool)? {
        switch state {
        case .waiting, .connecting, .stopped: nil
        case .handshaking(let connection, _), .up(let connection):
            connection.descriptor.map { ($0, connection.wantsWrite) }
        }
    }

    /// Waits until the link can be read or written, a signal arrives, or the deadline or a timer of the link expires.
    public func wait(until deadline: ContinuousClock.Instant) {
        switch state {
        case .waiting(let retry): wakeup.wait(for: nil, until: min(deadline, retry))
        case .connecting(_, let limit): wakeup.wait(for: nil, until: min(deadline, limit))
        case .stopped: wakeup.wait(for: nil, until: deadline)
        case .handshaking, .up: wakeup.wait(for: socket, until: min(deadline, nextKeepAlive))
        }
    }

    /// Whether there is data to send.
    public var wantsWrite: Bool { socket?.wantsWrite ?? false }

    /// Waits only for a signal of ``wakeup`` or the deadline, even if there is data to read.
    public func waitForSignal(until deadline: ContinuousClock.Instant) { wakeup.wait(for: nil, until: deadline) }

    /// Advances the connection attempt, or reads at most about `limit` packets, and returns the events.
    /// - Parameter shouldContinue: called after each packet; if it returns false, reading stops.
    public func read(limit: Int = 100, while shouldContinue: () -> Bool = { true }) -> [Event] {
        let now = ContinuousClock.now
        switch state {
        case .stopped: return []
        case .waiting(let retry):
            guard now >= retry else { return [] }
            guard mayConnect() else {
                state = .waiting(until: now + backoff.next(using: &generator))
                return []
            }
            var options = makeOptions(version)
            let nodes = options.address.nodes
            hasSeveralNodes = nodes.count > 1
            nodeNumber = node.current
            options.address = nodes[nodeNumber % nodes.count]
            let limit = hasSeveralNodes ? now + connectLimit : now + .seconds(86_400)
            attemptStart = now
            state = .connecting(attempt(options), until: limit)
            return []
        case .connecting(let attempt, let deadline):
            switch attempt.outcome {
            case nil:
                guard now >= deadline else { return [] }
                // The attempt ends on its own thread, and closes its connection if it succeeds.
                return [fail(MQTTError(.unreachable, "no connection within \(connectLimit)"))]
            case .failure(let error): return [fail(error)]
            case .success(let winner):
                let connection = winner.connection
                unansweredAddresses = winner.unanswered
                connection.onMessage = onMessage
                let limits = handshakeLimits
                state = .handshaking(connection, until: now + (hasSeveralNodes ? limits.several : limits.one))
                nextKeepAlive = now
                silenceReport = now + silenceLimit
                return handle(connection.read(limit: limit, while: shouldContinue))
            }
        case .handshaking(let connection, let deadline):
            let events = handle(connection.read(limit: limit, while: shouldContinue) + keepAlive(connection, now))
            // An answer may have ended the handshake without an event.
            guard events.isEmpty, case .handshaking = state else { return events }
            if now >= deadline { return [fail(.silence)] }
            guard let report = silenceReport, now >= report else { return [] }
            // A busy broker may still answer, and would be even busier with a new connection.
            silenceReport = nil
            return [.failed(.silence, retryIn: deadline - now)]
        case .up(let connection):
            return handle(connection.read(limit: limit, while: shouldContinue) + keepAlive(connection, now))
        }
    }

    /// Begins to establish TCP and TLS.
    private func attempt(_ options: MQTTOptions) -> Attempt<AddressRace.Winner> {
        Attempt { [wakeup] in
            wakeup.signal()
        } _: { [addresses] () throws(MQTTError) in
            let winner = try AddressRace(options: options, memory: addresses).run()
            winner.connection.completeHandshake()
            return winner
        }
    }

    /// Sends pending packets: PUBACKs for the messages read, and published messages.
    public func write() -> [Event] {
        switch state {
        case .handshaking(let connection, _), .up(let connection): handle(connection.write())
        case .waiting, .connecting, .stopped: []
        }
    }

    /// Queues a message, which the next ``write()`` sends.
    /// - Returns: the id of the message, or 0 if no event reports it. Nil if the link is not up; in that case the message
    ///   was not accepted.
    /// - Throws: ``MQTTError`` if libmosquitto rejects the message.
    @discardableResult
    public func publish(_ message: MQTTMessage) throws(MQTTError) -> Int32? {
        guard case .up(let connection) = state else { return nil }
        return try connection.publish(message)
    }

    /// Subscribes to a topic filter.
    /// - Returns: the id of the subscription, or nil if the link is not up.
    /// - Throws: ``MQTTError`` if libmosquitto rejects the filter.
    @discardableResult
    public func subscribe(to filter: String, qos: QualityOfService) throws(MQTTError) -> Int32? {
        guard case .up(let connection) = state else { return nil }
        return try connection.subscribe(to: filter, qos: qos)
    }

    /// Ends subscriptions to topic filters, which a session may have kept from earlier settings. A filter without a
    /// subscription is no error. Nothing is done if the link is not up.
    /// - Throws: ``MQTTError`` if libmosquitto rejects a filter.
    public func unsubscribe(from filters: [String]) throws(MQTTError) {
        guard case .up(let connection) = state else { return }
        try connection.unsubscribe(from: filters)
    }

    /// Closes the connection without a DISCONNECT and without sending pending packets, and reconnects after a backoff.
    ///
    /// The broker then sends unacknowledged messages again.
    public func abandon(_ reason: MQTTError) -> Event { lose(reason, isFailure: false) }

    /// Disconnects, and reconnects at once with new options.
    public func reconnect() {
        stop(until: .now + .seconds(1))
        state = .waiting(until: .now)
    }

    /// Disconnects, and waits until the DISCONNECT is sent or the deadline is reached. The link cannot be used again.
    public func stop(until deadline: ContinuousClock.Instant) {
        if case .up(let connection) = state {
            let drain = connection.descriptor.flatMap { SocketDrain($0) }
            connection.disconnect()
            var isOpen = true
            while isOpen, connection.descriptor != nil, ContinuousClock.now < deadline {
                if connection.write().contains(where: { if case .ended = $0 { true } else { false } }) { break }
                wakeup.wait(for: connection.descriptor.map { ($0, connection.wantsWrite) }, until: deadline)
                // Nothing is passed on: a message would be acknowledged before the DISCONNECT, though nobody stores it.
                isOpen = drain?.discard() ?? true
            }
            drain?.finish(until: min(deadline, .now + .seconds(1)))
        }
        state = .stopped
    }

    private func keepAlive(_ connection: MQTTConnection, _ now: ContinuousClock.Instant) -> [MQTTConnection.Event] {
        guard now >= nextKeepAlive else { return [] }
        nextKeepAlive = now + .seconds(1)
        return connection.keepAlive()
    }

    private func handle(_ events: [MQTTConnection.Event]) -> [Event] {
        events.compactMap { event in
            switch event {
            case .connected(let sessionPresent):
                guard case .handshaking(let connection, _) = state else { return nil }
                state = .up(connection)
                certificateExpiry = connection.certificateExpiry
                upSince = .now
                // After an outage the network may return for moments only. Waiting for long would miss them.
                if hasFailed { backoff.lower() }
                hasFailed = false
                peer = connection.descriptor.flatMap { PeerAddress(of: $0) }
                takeover.didConnect(
                    hasLostSession: connection.options.keepsSession && !sessionPresent, after: upSince - attemptStart,
                    at: upSince)
                return .connected(version, sessionPresent: sessionPresent)
            case .published(let id, let refusal): return .published(id: id, refusal: refusal)
            case .subscribed(let id, let isGranted): return .subscribed(id: id, isGranted: isGranted)
            case .ended(let error):
                if isUp { return lose(error) }
                return fallBack(error) ? nil : fail(error)
            }
        }
    }

    /// Connects to the same node again, at once, if it has refused MQTT 5 and 3.1.1 may be used. This is no failure, and
    /// ``Event/connected(_:sessionPresent:)`` has the version.
    private func fallBack(_ error: MQTTError) -> Bool {
        guard error.code == .unsupportedVersion, version == .five else { return false }
        choice.didFail(error.code)
        guard version == .three else { return false }
        state = .waiting(until: .now)
        return true
    }

    /// Handles a failed attempt to connect.
    private func fail(_ error: MQTTError) -> Event {
        let attempted = version
        choice.didFail(error.code)
        // The same node is asked with MQTT 3.1.1 before another one.
        if attempted == .three || version == .five { node.leave(nodeNumber) }
        takeover.didFail()
        hasFailed = true
        let delay = backoff.next(using: &generator)
        state = .waiting(until: .now + delay)
        return .failed(error, retryIn: delay)
    }

    /// Handles the end of an established connection.
    /// - Parameter isFailure: whether the connection was lost. Otherwise this side has ended it.
    private func lose(_ error: MQTTError, isFailure: Bool = true) -> Event {
        choice.didLose()
        let error = classifyLoss(error, isFailure: isFailure)
        // Another client or a message that is too large says nothing about the node.
        if isFailure, error.code != .takenOver, error.code != .tooLarge { node.leave(nodeNumber) }
        // After a takeover, wait for longer: otherwise two clients with the same id would disconnect each
        // other several times per second.
        let delay = error.code == .takenOver ? takeoverDelay : backoff.next(using: &generator)
        state = .waiting(until: .now + delay)
        return .disconnected(error, retryIn: delay)
    }

    /// Records the lost connection, and returns its error: a takeover if another client with the same id has ended it.
    private func classifyLoss(_ error: MQTTError, isFailure: Bool) -> MQTTError {
        // Otherwise, a network that cuts each connection after a few seconds would be left unused for longer and longer.
        // If this side cannot use what is delivered, however, each connection would only repeat it.
        if case .up(let connection) = state,
            isFailure && connection.hasDelivered || ContinuousClock.now - upSince >= Self.stableTime
        {
            backoff.reset()
        }
        // Read before, because `didLose` has exclusive access while it evaluates `isListening`.
        let limit = takeover.probeLimit
        let isTakenOver = takeover.didLose(
            error.code, isListening: probesBroker && peer?.isListening(within: limit) ?? false, at: .now)
        guard isTakenOver, error.code != .takenOver else { return error }
        return MQTTError(.takenOver, "another client may be using the same client id")
    }
}
