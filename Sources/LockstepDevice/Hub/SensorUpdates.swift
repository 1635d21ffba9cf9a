import LockstepSensors

/// What a sensor gives, as a sequence: each loop over it is a subscription of its own, which begins and ends with the
/// loop.
///
/// ```swift
/// for try await sample in manager.accelerometerUpdates() { print(sample.acceleration) }
/// ```
public struct SensorUpdates<Element: Sendable>: AsyncSequence, Sendable {
    typealias Transform = (SensorUpdate) throws -> [Element]

    let subscribe: @Sendable () -> AsyncThrowingStream<SensorUpdate, any Error>
    /// Makes what turns updates into elements: a new one, with a memory of its own, for each loop.
    let makeTransform: @Sendable () -> Transform

    public struct AsyncIterator: AsyncIteratorProtocol {
        var updates: AsyncThrowingStream<SensorUpdate, any Error>.Iterator
        let transform: Transform
        var ready: ArraySlice<Element> = []

        /// The next; nil when all sources have come to their end, or the task is cancelled.
        /// - Throws: ``SensorHubError``; what ends a source.
        public mutating func next() async throws -> Element? {
            while true {
                if let first = ready.popFirst() { return first }
                guard let update = try await updates.next() else { return nil }
                ready = try transform(update)[...]
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(updates: subscribe().makeAsyncIterator(), transform: makeTransform())
    }
}
