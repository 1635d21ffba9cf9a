import LockstepSensors

/// The values of a sensor as an asynchronous sequence. Each loop over it is a separate subscription, which starts and
/// ends with the loop.
///
/// ```swift
/// for try await sample in manager.accelerometerUpdates() { print(sample.acceleration) }
/// ```
public struct SensorUpdates<Element: Sendable>: AsyncSequence, Sendable {
    typealias Transform = (SensorUpdate) throws -> [Element]

    let subscribe: @Sendable () -> AsyncThrowingStream<SensorUpdate, any Error>
    /// Creates the conversion of updates to elements, whose state belongs to one loop.
    let makeTransform: @Sendable () -> Transform

    /// One subscription.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var updates: AsyncThrowingStream<SensorUpdate, any Error>.Iterator
        let transform: Transform
        /// The elements that have been converted and not returned yet.
        var ready: ArraySlice<Element> = []

        /// Returns the next element; nil when all sources have ended or the task is cancelled.
        /// - Throws: ``SensorHubError``, or the error that ended a source.
        public mutating func next() async throws -> Element? {
            while true {
                if let first = ready.popFirst() { return first }
                guard let update = try await updates.next() else { return nil }
                ready = try transform(update)[...]
            }
        }
    }

    /// Subscribes, and returns the iterator of the subscription.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(updates: subscribe().makeAsyncIterator(), transform: makeTransform())
    }
}
