/// Limits the backlog on its way to the broker, so that it uses the whole link, but live data hardly waits behind it.
///
/// The broker acknowledges each message with a PUBACK. Until then, the link has delivered all bytes that were in flight when
/// the message was published. This is the delivery rate of the link, and rate × minimum round-trip time is what fits into
/// the link without a queue, as in TCP's BBR (Cardwell et al., BBR: Congestion-Based Congestion Control, 2016). The window
/// adds a short queue, so that the link is never idle. While no such queue arises, the rate is that of the window and not of
/// the link, so the window grows exponentially. It follows the link in both directions.
///
/// A minimum is right only if a message found no queue. While the backlog fills the link, none does. Therefore the window is
/// halved every ``probeInterval``, and grows again.
///
/// The window belongs to a connection. The collectors' part of the way is limited by ``DeviceDelivery``. All times are in µs of
/// the boot clock.
public struct LinkWindow: Sendable {
    /// The size of a new connection's window in bytes.
    static let initialSize = 4096.0
    /// The limits of the size in bytes. One message is always allowed, however large.
    static let minSize = 2048.0
    static let maxSize = 8_388_608.0
    /// The maximum number of backlog messages in flight.
    static let maxMessages = 500
    /// The time that a message may wait in queues, in µs. It also covers delays of agent and broker: they must not look
    /// like a slow link.
    static let queueTime: Int64 = 100_000
    /// The part of a message that may be queued besides. On a link that sends a message for seconds, a whole one would
    /// delay live data too much.
    static let queuedPart = 0.5
    /// The time after which the window is halved, so that the queue disappears for a round trip.
    static let probeInterval: Int64 = 60_000_000

    private struct Message {
        let at: Int64
        let bytes: Int
        let isBacklog: Bool
        /// The bytes in flight when it was published, including its own.
        let inFlight: Int
    }

    /// The maximum number of bytes in flight with backlog.
    private(set) var size = LinkWindow.initialSize
    private var messages: [Int32: Message] = [:]
    private var bytesInFlight = 0
    private var backlogInFlight = 0
    private var roundTrip = RoundTrip()
    /// About the size of the largest recent messages in bytes.
    private var largest = 0.0
    /// The last time at which the window was halved or no backlog was in flight.
    private var probedAt: Int64 = 0

    /// Creates the window of a new connection.
    public init() {}

    /// Whether backlog may be published now.
    public var isOpen: Bool {
        Double(bytesInFlight) < size && backlogInFlight < Self.maxMessages
    }

    /// Records that a message with QoS 1 was published.
    /// - Parameters:
    ///   - id: the id of the message.
    ///   - bytes: the size of its payload.
    ///   - isBacklog: whether it is backlog. Live messages are always published, and use the same link.
    public mutating func didPublish(_ id: Int32, bytes: Int, isBacklog: Bool, at boot: Int64) {
        remove(id)
        if backlogInFlight == 0 { probedAt = boot }
        bytesInFlight += bytes
        if isBacklog { backlogInFlight += 1 }
        largest = max(largest, Double(bytes))
        messages[id] = Message(at: boot, bytes: bytes, isBacklog: isBacklog, inFlight: bytesInFlight)
    }

    /// Handles the PUBACK of a message. Other messages have no effect.
    public mutating func didReceivePuback(_ id: Int32, at boot: Int64) {
        guard let message = remove(id) else { return }
        let duration = max(1, boot - message.at)
        roundTrip.add(duration, at: boot)
        adapt(to: message, duration: Double(duration))
        largest = max(Double(message.bytes), largest * (1 - 1 / 64))
        guard boot - probedAt >= Self.probeInterval else { return }
        probedAt = boot
        size = max(size / 2, Self.minSize)
    }

    /// Removes a message that the broker refused.
    public mutating func didRefuse(_ id: Int32) { remove(id) }

    private mutating func adapt(to message: Message, duration: Double) {
        let inFlight = Double(message.inFlight)
        // If less is in flight than allowed, the window says nothing about the link (RFC 7661).
        guard let minimum = roundTrip.minimum, 2 * inFlight >= size else { return }
        // What the link delivers in the time that a message should take; the rest waited in queues.
        let delivered = inFlight * Double(minimum + Self.queueTime) / duration
        let queued = Self.queuedPart * largest
        if inFlight - delivered < queued {
            // By half in each round trip.
            size += Double(message.bytes) / 2
        } else {
            size += (delivered + queued - size) * min(1, Double(message.bytes) / inFlight)
        }
        size = min(max(size, Self.minSize), Self.maxSize)
    }

    @discardableResult
    private mutating func remove(_ id: Int32) -> Message? {
        guard let message = messages.removeValue(forKey: id) else { return nil }
        bytesInFlight -= message.bytes
        if message.isBacklog { backlogInFlight -= 1 }
        return message
    }
}

/// Limits the rate of backlog in bytes a second. Unused budget accumulates for at most one second.
public struct ByteBudget: Sendable {
    /// The rate in bytes a second.
    public let rate: Int
    private var available: Double
    private var filledAt: Int64

    /// Creates a budget that starts with the bytes of one second.
    /// - Parameters:
    ///   - rate: the rate in bytes a second.
    ///   - boot: the current time in µs of the boot clock.
    public init(rate: Int, at boot: Int64) {
        self.rate = rate
        available = Double(rate)
        filledAt = boot
    }

    /// Returns whether a message may be sent.
    /// - Parameter boot: the current time in µs of the boot clock.
    public mutating func isOpen(at boot: Int64) -> Bool {
        available = min(Double(rate), available + Double(boot - filledAt) * Double(rate) / 1_000_000)
        filledAt = boot
        return available > 0
    }

    /// Subtracts the bytes of a sent message, which may overdraw the budget.
    public mutating func spend(_ bytes: Int) { available -= Double(bytes) }
}
