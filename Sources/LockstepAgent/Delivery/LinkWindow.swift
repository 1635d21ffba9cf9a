public import LockstepMQTT

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
/// A broker may allow so few messages in flight that they do not fill a long link: Mosquitto allows 20 by default. Then only
/// some messages have QoS 1, see ``needsPuback(isBacklog:)``. As the broker reads the messages in order, the
/// PUBACK of such a message also shows that those with QoS 0 before it have arrived.
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
    /// The minimum round-trip time in µs with which a broker's limit of messages in flight matters: in a shorter one, even few
    /// messages are hundreds a second.
    static let longRoundTrip: Int64 = 50_000

    /// A message with QoS 1. Bytes and backlog include the messages with QoS 0 that its PUBACK confirms.
    private struct Message {
        let at: Int64
        let bytes: Int
        let isBacklog: Bool
        let backlog: Int
        /// The bytes in flight when it was published, including its own.
        let inFlight: Int
    }

    /// The maximum number of bytes in flight with backlog.
    private(set) var size = LinkWindow.initialSize
    private var messages: [Int32: Message] = [:]
    /// The messages with QoS 0 since the last one with QoS 1.
    private var unconfirmed = (bytes: 0, backlog: 0)
    private var bytesInFlight = 0
    private var backlogInFlight = 0
    /// The number of messages with QoS 1 in flight that are backlog.
    private var backlogPubacks = 0
    private var roundTrip = RoundTrip()
    /// About the size of the largest recent messages in bytes.
    private var largest = 0.0
    /// The last time at which the window was halved or no backlog was in flight.
    private var probedAt: Int64 = 0

    /// The number of messages with QoS 1 that the broker allows in flight, or nil if that is more than the window needs.
    private let maxInFlight: Int?

    /// Creates the window of a new connection.
    /// - Parameter maxInFlight: the number of messages with QoS 1 that the broker allows in flight; nil if it sets no limit.
    public init(maxInFlight: Int? = nil) {
        self.maxInFlight = maxInFlight.flatMap { $0 < Self.maxMessages ? $0 : nil }
    }

    /// Whether backlog may be published now.
    public var isOpen: Bool {
        Double(bytesInFlight) < size && backlogInFlight < Self.maxMessages || messages.isEmpty
    }

    /// Returns whether the next message needs QoS 1. Live messages have it as long as the broker allows, so that they arrive in
    /// order. Those of the backlog have it so often that the window is divided among half of what the broker allows.
    public func needsPuback(isBacklog: Bool) -> Bool {
        guard let maxInFlight, let minimum = roundTrip.minimum, minimum >= Self.longRoundTrip, !messages.isEmpty else {
            return true
        }
        let isFull = messages.count >= maxInFlight * 3 / 4
        guard isBacklog else { return !isFull }
        return (!isFull || backlogPubacks < maxInFlight / 4)
            && Double(maxInFlight / 2) * (Double(unconfirmed.bytes) + largest) >= size
    }

    /// Handles that no message with QoS 1 follows those with QoS 0.
    public mutating func didConfirm() {
        bytesInFlight -= unconfirmed.bytes
        backlogInFlight -= unconfirmed.backlog
        unconfirmed = (0, 0)
    }

    /// Records that a message was published.
    /// - Parameters:
    ///   - id: the id of the message.
    ///   - bytes: the size of its payload.
    ///   - isBacklog: whether it is backlog. Live messages are always published, and use the same link.
    ///   - qos: whether the message has a PUBACK.
    public mutating func didPublish(
        _ id: Int32, bytes: Int, isBacklog: Bool, qos: QualityOfService = .atLeastOnce, at boot: Int64
    ) {
        remove(id)
        if backlogInFlight == 0 { probedAt = boot }
        bytesInFlight += bytes
        unconfirmed.bytes += bytes
        if isBacklog {
            backlogInFlight += 1
            unconfirmed.backlog += 1
        }
        largest = max(Double(bytes), largest * (1 - 1 / 64))
        guard qos == .atLeastOnce else { return }
        messages[id] = Message(
            at: boot, bytes: unconfirmed.bytes, isBacklog: isBacklog, backlog: unconfirmed.backlog,
            inFlight: bytesInFlight)
        unconfirmed = (0, 0)
        if isBacklog { backlogPubacks += 1 }
    }

    /// Handles the PUBACK of a message. Other messages have no effect.
    public mutating func didReceivePuback(_ id: Int32, at boot: Int64) {
        guard let message = remove(id) else { return }
        let duration = max(1, boot - message.at)
        roundTrip.add(duration, at: boot)
        adapt(to: message, duration: Double(duration))
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
        backlogInFlight -= message.backlog
        if message.isBacklog { backlogPubacks -= 1 }
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
