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
