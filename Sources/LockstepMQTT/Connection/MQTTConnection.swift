import CMosquitto
import Glibc

/// One connection to a broker, from its TCP connect to its end, over one libmosquitto client.
///
/// Not shared between threads: all calls come from one at a time. The owner polls ``descriptor``, calls ``read(limit:)``
/// and ``write()``. Nothing leaves before ``write()``: the acknowledgements of what ``read(limit:)`` handed over
/// wait, so that a collector can commit in between. After the end of the connection a new value is made for the
/// next: no half-sent message survives in the library to be sent twice.
public final class MQTTConnection {
    public enum Event: Sendable {
        case connected(sessionPresent: Bool)
        /// The broker took (nil) or refused a message of QoS 1, or it was written (QoS 0).
        case published(id: Int32, refusal: MQTTError?)
        /// The broker took or refused a subscription.
        case subscribed(id: Int32, isGranted: Bool)
        case ended(MQTTError)
    }

    public let options: MQTTOptions
    /// Called from within ``read(limit:)``.
    public var onMessage: ((IncomingMessage) -> Void)?

    /// Bytes of the largest packet that the broker takes; nil where it has not told, as before MQTT 5.
    public internal(set) var maximumPacketSize: Int?

    let handle: OpaquePointer
    /// What the callbacks collect until the owner takes it.
    var events: [Event] = []
    var callbackCount = 0
    var hasEnded = false
    var lastProblem: String?
    /// Why TLS failed, where that is known better than by libmosquitto's return value.
    var tlsCause: String?
    /// Whether TLS is up, as far as the broker is concerned too.
    var hasTLSVerdict = false
    /// Whether the broker took this client.
    var isAccepted = false

    /// Makes a client; nothing is sent yet.
    /// - Throws: ``MQTTError`` for options that libmosquitto does not take (a file that can't be read, say).
    public init(_ options: MQTTOptions) throws(MQTTError) {
        MosquittoLibrary.start
        self.options = options
        guard let handle = mosquitto_new(options.clientID, !options.keepsSession, nil) else {
            throw MQTTError(.invalid, "libmosquitto refused the client id '\(options.clientID)'")
        }
        self.handle = handle
        // Unretained: the handle, and with it every callback, ends in deinit.
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        try configure()
        setCallbacks()
    }

    deinit { mosquitto_destroy(handle) }

    /// Connects, waiting for TCP and TLS; whether the broker takes the client is told by an event. What the broker has
    /// said until then is to be read before the first ``write()``.
    public func connect() throws(MQTTError) {
        let start = ContinuousClock.now
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        if options.version == .five, options.keepsSession {
            // The greatest value says: until the client ends it.
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), .max)
        }
        try check(
            mosquitto_connect_bind_v5(
                handle, options.address.host, Int32(options.address.port), Int32(options.keepAlive), nil, properties))
        if options.address.usesTLS { awaitTLSVerdict(since: start) }
    }

    /// What to poll: nil before and after the connection.
    public var descriptor: Int32? {
        let socket = mosquitto_socket(handle)
        return socket >= 0 ? socket : nil
    }

    public var wantsWrite: Bool { mosquitto_want_write(handle) }

    /// Takes in what has arrived, up to about `limit` packets, and returns what happened meanwhile.
    /// - Parameter mayGoOn: asked after each packet; what has not been read stays with the network.
    public func read(limit: Int, while mayGoOn: () -> Bool = { true }) -> [Event] {
        for _ in 0..<max(1, limit) where !hasEnded {
            let before = callbackCount
            let status = mosquitto_loop_read(handle, 1)
            if status != 0 { end(with: failure(status)) }
            // A call without a callback found no whole packet, or one of no concern: the next poll will tell.
            if callbackCount == before || !mayGoOn() { break }
        }
        return takeEvents()
    }

    /// Sends what waits.
    public func write() -> [Event] {
        if !hasEnded, descriptor != nil {
            let status = mosquitto_loop_write(handle, 1)
            if status != 0 { end(with: failure(status)) }
        }
        return takeEvents()
    }

    /// Keeps the connection alive; to be called about once a second.
    public func keepAlive() -> [Event] {
        if !hasEnded {
            let status = mosquitto_loop_misc(handle)
            if status != 0 { end(with: failure(status)) }
        }
        return takeEvents()
    }

    /// Hands a message to the library, which sends it at the next ``write()``.
    /// - Returns: the id by which an event tells that the broker has it.
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
        return id
    }

    /// Asks for the messages of a topic filter. With MQTT 5 the client's own messages do not come back.
    /// - Returns: the id by which an event tells whether it was granted.
    @discardableResult
    public func subscribe(to filter: String, qos: QualityOfService) throws(MQTTError) -> Int32 {
        var id: Int32 = 0
        let options = self.options.version == .five ? Int32(MQTT_SUB_OPT_NO_LOCAL.rawValue) : 0
        try check(mosquitto_subscribe_v5(handle, &id, filter, qos.rawValue, options, nil))
        return id
    }

    /// Says goodbye, so that the broker does not publish the will; sent at the next ``write()``.
    public func disconnect() {
        // A connection that is gone already needs no goodbye.
        _ = mosquitto_disconnect_v5(handle, 0, nil)
    }

    func end(with error: MQTTError) {
        guard !hasEnded else { return }
        hasEnded = true
        events.append(.ended(error))
    }

    private func takeEvents() -> [Event] {
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    private func check(_ status: Int32) throws(MQTTError) {
        guard status == 0 else { throw failure(status) }
    }

    private func configure() throws(MQTTError) {
        // Makes libmosquitto queue packets rather than send them from within its callbacks.
        try check(mosquitto_threaded_set(handle, true))
        let version = options.version == .five ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        try check(mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, version))
        try check(mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(options.receiveMaximum)))
        // The owner limits what is under way; no second limit here.
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

/// libmosquitto's global state, set up once a process and left to its end.
enum MosquittoLibrary {
    static let start: Void = { _ = mosquitto_lib_init() }()
}
