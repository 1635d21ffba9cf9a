public import LockstepModel

/// A subscription: a sequence of server-sent events, encoded and ready to be written.
///
/// Each element contains all events that are waiting, so that a server writes them at once. Events that many subscribers
/// receive share their memory. The sequence ends after an event `end` with the reason, or when the subscription is
/// cancelled. Iterate it in one task only.
///
/// A consumer that is blocked while it writes does not see the end. Wait for ``ended()`` in another task, and then close
/// the connection.
public final class LiveSubscription: AsyncSequence, Sendable {
    /// All events that are waiting, in order.
    public typealias Element = [[UInt8]]

    let subscriber: Subscriber
    private let onCancel: @Sendable () -> Void

    init(_ subscriber: Subscriber, onCancel: @escaping @Sendable () -> Void) {
        self.subscriber = subscriber
        self.onCancel = onCancel
    }

    deinit { cancel() }

    /// Ends the subscription. This happens by itself if the subscription is released, or if the task that waits for
    /// events is cancelled.
    public func cancel() {
        subscriber.cancel()
        onCancel()
    }

    /// Waits until the subscription has ended, and returns the reason.
    public func ended() async -> String { await subscriber.ended() }

    /// Calls `body` after the end. It does not hold the subscription, which ends when nobody does.
    package func afterEnd(_ body: @escaping @Sendable () async -> Void) {
        let subscriber = subscriber
        Task {
            _ = await subscriber.ended()
            await body()
        }
    }

    /// Returns an iterator over the events.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    /// An iterator over the events of a subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: LiveSubscription

        /// Waits for events and returns them; nil after the end.
        public mutating func next() async -> [[UInt8]]? { await subscription.next() }

        /// Waits for events and returns them; nil after the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [[UInt8]]? {
            await subscription.next()
        }
    }

    private func next() async -> [[UInt8]]? {
        // Otherwise the subscription could be released, and thereby cancelled, while it waits.
        defer { withExtendedLifetime(self) {} }
        return await subscriber.next()
    }
}

/// The samples that a subscriber wants.
public struct SampleRequest: Sendable {
    /// The valid event rates, in events per second for each device and stream. A rate is reduced to the next of
    /// ``rates``, so that subscribers share events.
    public static let validRates = 0.1...60.0
    /// The event rates that are distinguished.
    public static let rates = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60]

    /// The devices; nil for all, including those that appear later.
    public let devices: Set<DeviceAddress>?
    /// The names of the streams; nil for all.
    public let streams: Set<String>?
    /// The maximum number of events per second for each device and stream.
    public let hz: Double
    /// The index of `hz` in ``rates``.
    let rate: Int

    /// Creates a request.
    /// - Parameters:
    ///   - devices: the devices; nil for all, including those that appear later.
    ///   - streams: the streams; nil for all.
    ///   - hz: the maximum number of events per second for each device and stream. It is limited to ``validRates``.
    public init(devices: Set<DeviceAddress>?, streams: Set<SensorStream>?, hz: Double = 10) {
        self.devices = devices
        self.streams = streams.map { Set($0.map(\.name)) }
        rate = Self.rates.lastIndex { $0 <= hz } ?? 0
        self.hz = Self.rates[rate]
    }

    func selects(_ address: DeviceAddress, _ stream: SensorStream) -> Bool {
        devices?.contains(address) ?? true && streams?.contains(stream.name) ?? true
    }
}

/// The error for a subscription that is refused.
public enum SubscriptionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There are as many subscribers as the limit allows.
    case tooManySubscribers(limit: Int)
    /// The live picture was closed.
    case closed

    /// The cause, and what to do.
    public var description: String {
        switch self {
        case .tooManySubscribers(let limit):
            "there are already \(limit) subscribers: close other connections, or try again later"
        case .closed: "the server is stopping: try again later"
        }
    }
}
