import CLinux
import CMosquitto
import Glibc

/// One connection to a broker, over one libmosquitto client, from the TCP connect to the end of the connection.
///
/// An instance must be used by one thread at a time. The owner polls ``descriptor`` and calls ``read(limit:while:)``
/// and ``write()``. Nothing is sent before ``write()``, not even PUBACKs, so that a collector can commit the received
/// messages first. Each connection needs a new instance, because with a reused one libmosquitto would send a partly
/// sent message again.
///
/// Implemented here with libmosquitto because no available Swift client lets its owner delay PUBACKs.
public final class MQTTConnection {
    /// An event of the connection.
    public enum Event: Sendable {
        /// The broker accepted the connection.
        case connected(sessionPresent: Bool)
        /// The broker acknowledged or refused a message with QoS 1.
        case published(id: Int32, refusal: MQTTError?)
        /// The broker granted or refused a subscription.
        case subscribed(id: Int32, isGranted: Bool)
        /// The connection has ended, or was not accepted.
        case ended(MQTTError)
    }

    /// The options of the connection.
    public let options: MQTTOptions
    /// Handles received messages. Called from within ``read(limit:while:)``.
    public var onMessage: ((IncomingMessage) -> Void)?

    /// The size of the largest packet that the broker accepts, in bytes; nil if the broker sets no limit or does not
    /// use MQTT 5.
    public internal(set) var maxPacketSize: Int?
    /// Whether the broker keeps retained messages.
    var isRetainAvailable = true
    /// The maximum number of published messages with QoS 1 that the broker has not acknowledged; nil if it sets no limit or
    /// does not use MQTT 5.
    var maxInFlight: Int?
    /// The end of the validity of the broker's certificate, in µs since 1970; nil without TLS, or if it is unknown.
    var certificateExpiry: Int64?

    let handle: OpaquePointer
    /// The events that the owner has not taken yet.
    var events: [Event] = []
    /// The number of callbacks so far; shows whether a read has completed a packet.
    var callbackCount = 0
    var hasEnded = false
    /// The last error that libmosquitto logged.
    var lastProblem: String?
    /// The cause of a TLS failure, if it is known more precisely than from libmosquitto's return value.
    var tlsCause: String?
    /// Whether the broker has accepted or refused the client certificate, as far as the client can know.
    var hasCertificateDecision = false
    /// Whether the broker accepted the connection.
    var isAccepted = false
    /// Whether the connection was of use: the broker has acknowledged a message, or sent one that was new.
    var hasDelivered = false
    /// The time at which connecting started.
    private let started = ContinuousClock.now
    /// About how many packets of libmosquitto wait for the next ``write()``.
    var pendingPackets = 0
    /// Whether libmosquitto is sending packets.
    private(set) var isWriting = false

    /// Creates a client. Nothing is sent yet.
    /// - Throws: ``MQTTError`` for options that libmosquitto rejects, such as an unreadable file.
    public init(_ options: MQTTOptions) throws(MQTTError) {
        MosquittoLibrary.start
        self.options = options
        guard let handle = mosquitto_new(options.clientID, !options.keepsSession, nil) else {
            throw MQTTError(.invalid, "libmosquitto rejected the client id '\(options.clientID)'")
        }
        self.handle = handle
        // Unretained is safe: deinit destroys the handle, so no callback outlives this instance.
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        try configure()
        setCallbacks()
    }

    deinit { mosquitto_destroy(handle) }

    /// Connects, and blocks until TCP and TLS are established.
    ///
    /// The broker's answer arrives later as an event. Call ``read(limit:while:)`` before the first ``write()``, so that
    /// the reason of a refused client certificate is read before a write fails.
    /// - Throws: ``MQTTError`` if the broker cannot be reached or TLS fails.
    public func connect() throws(MQTTError) {
        try open()
        completeHandshake()
    }

    /// Connects, and blocks until TCP is established and TLS has begun.
    /// - Parameter hostAddress: the address of the host to use, or nil to try all of them in turn. A certificate is verified
    ///   for the name of the host in any case.
    func open(at hostAddress: String? = nil) throws(MQTTError) {
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        if options.version == .five, options.keepsSession {
            // The maximum value means that the session never expires.
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), .max)
        }
        let status = options.address.host.withCString { host in
            func connect() -> Int32 {
                mosquitto_connect_bind_v5(
                    handle, host, Int32(options.address.port), Int32(options.keepAlive), nil, properties)
            }
            guard let hostAddress else { return connect() }
            return hostAddress.withCString { address in
                resolver_choose(host, address)
                defer { resolver_choose(nil, nil) }
                return connect()
            }
        }
        try check(status)
        if let seconds = options.peerTimeout, let descriptor {
            PeerTimeout(seconds: Int32(seconds)).apply(to: descriptor)
        }
    }

    /// Completes TLS, if the connection uses it. Blocks; a failure is reported by the next ``read(limit:while:)``.
    func completeHandshake() { if options.address.usesTLS { awaitCertificateDecision(since: started) } }

    /// The file descriptor to poll; nil while there is no connection.
    public var descriptor: Int32? {
        let socket = mosquitto_socket(handle)
        return socket >= 0 ? socket : nil
    }

    /// Whether there is data to send.
    public var wantsWrite: Bool { mosquitto_want_write(handle) }

    /// Reads at most about `limit` packets, and returns the events since the last call.
    /// - Parameter shouldContinue: called after each packet; if it returns false, reading stops.
    public func read(limit: Int, while shouldContinue: () -> Bool = { true }) -> [Event] {
        // TLS reads ahead itself.
        if isAccepted, !options.address.usesTLS, let descriptor { read_ahead_begin(descriptor) }
        defer { read_ahead_end(descriptor ?? -1) }
        for _ in 0..<max(1, limit) where !hasEnded {
            let before = callbackCount
            let status = mosquitto_loop_read(handle, 1)
            if status != 0 { end(with: failure(status)) }
            // No callback was called: there was no complete packet, or one without an event. Stop, so that the owner
            // polls again.
            if callbackCount == before || !shouldContinue() { break }
        }
        // Only a PUBACK causes this event while reading.
        if !hasDelivered { hasDelivered = events.contains { if case .published(_, nil) = $0 { true } else { false } } }
        return takeEvents()
    }

    /// Sends pending packets, and returns the events since the last call.
    public func write() -> [Event] {
        if !hasEnded, let descriptor {
            // libmosquitto sends each packet with a system call of its own. Without the cork, each call would also send a
            // TCP segment and wake the broker.
            let isCorked = pendingPackets >= Self.minCorkedPackets && setCork(true, of: descriptor)
            isWriting = true
            let status = mosquitto_loop_write(handle, 1)
            isWriting = false
            if isCorked, mosquitto_socket(handle) == descriptor { _ = setCork(false, of: descriptor) }
            if status != 0 { end(with: failure(status)) }
            pendingPackets = 0
        }
        return takeEvents()
    }

    /// Sends pings, detects a dead connection, and returns the events since the last call. Call it about once per
    /// second.
    public func keepAlive() -> [Event] {
        if !hasEnded {
            let status = mosquitto_loop_misc(handle)
            if status != 0 { end(with: failure(status)) }
        }
        return takeEvents()
    }

    /// Queues a message, which the next ``write()`` sends.
    ///
    /// Packets are sent in the order of the calls.
    /// - Returns: the id of the message in ``Event/published(id:refusal:)``. A message with QoS 0 causes no event.
    /// - Throws: ``MQTTError`` if libmosquitto rejects the message.
    @discardableResult
    public func publish(_ message: MQTTMessage) throws(MQTTError) -> Int32 {
        var id: Int32 = 0
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        if options.version == .five, let contentType = message.contentType {
            try check(
                mosquitto_property_add_string(&properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), contentType))
        }
        let status = message.payload.withUnsafeBytes { bytes in
            mosquitto_publish_v5(
                handle, &id, message.topic, Int32(bytes.count), bytes.baseAddress, message.qos.rawValue,
                message.isRetained, properties)
        }
        try check(status)
        pendingPackets += 1
        return id
    }

    /// Subscribes to a topic filter. With MQTT 5, the client does not receive its own messages, unless the filter is shared.
    /// - Returns: the id of the subscription in ``Event/subscribed(id:isGranted:)``.
    /// - Throws: ``MQTTError`` if libmosquitto rejects the filter.
    @discardableResult
    public func subscribe(to filter: String, qos: QualityOfService) throws(MQTTError) -> Int32 {
        var id: Int32 = 0
        // MQTT forbids this option for shared subscriptions: newer brokers end the connection.
        let isLocalExcluded = self.options.version == .five && !filter.hasPrefix("$share/")
        let options = isLocalExcluded ? Int32(MQTT_SUB_OPT_NO_LOCAL.rawValue) : 0
        try check(mosquitto_subscribe_v5(handle, &id, filter, qos.rawValue, options, nil))
        return id
    }

    /// Ends subscriptions to topic filters. A filter without a subscription is no error.
    /// - Throws: ``MQTTError`` if libmosquitto rejects a filter.
    public func unsubscribe(from filters: [String]) throws(MQTTError) {
        for filter in filters { try check(mosquitto_unsubscribe_v5(handle, nil, filter, nil)) }
    }

    /// Queues a DISCONNECT after all messages, so that the broker discards the will.
    public func disconnect() {
        // An error means that the connection has already ended.
        _ = mosquitto_disconnect_v5(handle, 0, nil)
    }

    /// The number of pending packets from which ``write()`` collects them into full TCP segments. For fewer packets, the
    /// two additional system calls are not worthwhile.
    private static let minCorkedPackets = 8

    /// Lets the kernel collect small writes into full segments, or sends what it has collected.
    private func setCork(_ isCorked: Bool, of descriptor: Int32) -> Bool {
        var value: Int32 = isCorked ? 1 : 0
        return setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    /// Records the end of the connection. Only the first error counts.
    func end(with error: MQTTError) {
        guard !hasEnded else { return }
        hasEnded = true
        events.append(.ended(error))
    }

    private func takeEvents() -> [Event] {
        defer { events = [] }
        return events
    }

    private func check(_ status: Int32) throws(MQTTError) {
        guard status == 0 else { throw failure(status) }
    }

    private func configure() throws(MQTTError) {
        // libmosquitto then queues packets instead of sending them from within its callbacks.
        try check(mosquitto_threaded_set(handle, true))
        let version = options.version == .five ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        try check(mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, version))
        try check(mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(options.receiveMaximum)))
        // The owner limits the messages in flight, so libmosquitto needs no limit.
        try check(mosquitto_max_inflight_messages_set(handle, 0))
        try check(mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1))
        if let user = options.address.user {
            try check(mosquitto_username_pw_set(handle, user, options.address.password))
        }
        if let will = options.will {
            let status = will.payload.withUnsafeBytes { bytes in
                mosquitto_will_set_v5(
                    handle, will.topic, Int32(bytes.count), bytes.baseAddress, will.qos.rawValue, will.isRetained, nil)
            }
            try check(status)
        }
        if options.address.usesTLS { try configureTLS() }
    }
}

/// The global state of libmosquitto, initialised once per process and never cleaned up.
enum MosquittoLibrary {
    static let start: Void = { _ = mosquitto_lib_init() }()
}
