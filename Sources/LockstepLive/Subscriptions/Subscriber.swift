import Synchronization

/// The receiving end of one subscription: its queue, and the task that waits for events.
final class Subscriber: Sendable {
    private struct State {
        var queue: EventQueue
        /// The events that are sent first, outside of the queue's limit.
        var prologue: [[UInt8]] = []
        /// Whether the prologue is complete, so that events may be taken.
        var isOpen = false
        /// Whether ``notify()`` is pending.
        var isNotifyPending = false
        var waiting: CheckedContinuation<[[UInt8]]?, Never>?
        /// The reason of the end, once it has ended.
        var end: String?
        var endWaiters: [CheckedContinuation<String, Never>] = []

        /// Removes and returns the events that wait, or nil if there are none.
        mutating func take() -> [[UInt8]]? {
            guard isOpen, !prologue.isEmpty || !queue.isEmpty else { return nil }
            let events = prologue + queue.take()
            prologue = []
            return events
        }
    }

    let id: Int
    private let state: Mutex<State>
    private let droppedSamples: DroppedSamples

    init(id: Int, limit: Int, overflow: EventQueue.Overflow, droppedSamples: DroppedSamples = DroppedSamples()) {
        self.id = id
        self.droppedSamples = droppedSamples
        state = Mutex(State(queue: EventQueue(limit: limit, overflow: overflow)))
    }

    var hasEnded: Bool { state.withLock { $0.end != nil } }
    /// Whether nothing waits to be taken.
    var isIdle: Bool { state.withLock { $0.isOpen && $0.prologue.isEmpty && $0.queue.isEmpty } }

    /// Adds an event; ``notify()`` delivers it.
    /// - Parameter samples: the number of samples in the event; 0 for an event that must not be dropped.
    /// - Returns: whether the caller must call ``notify()``.
    func add(_ event: [UInt8], samples: Int = 0) -> Bool {
        let (isFull, wasTouched) = state.withLock { state in
            guard state.end == nil else { return (false, true) }
            let dropped = state.queue.dropped
            let fits = state.queue.add(event, samples: samples)
            droppedSamples.add(state.queue.dropped - dropped)
            defer { state.isNotifyPending = true }
            return (!fits, state.isNotifyPending)
        }
        if isFull { end("too slow: more events were waiting than the server keeps") }
        return !wasTouched
    }

    /// Records samples that were dropped before they became an event.
    func drop(_ samples: Int64) {
        droppedSamples.add(samples)
        state.withLock { $0.queue.drop(samples) }
    }

    /// Lets the subscriber take events, first those of `prologue`.
    func open(_ prologue: [[UInt8]]) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.prologue = prologue
            state.isOpen = true
            state.isNotifyPending = false
        }
    }

    /// Resumes the task that waits for events, if there is one.
    func notify() {
        let (waiting, events) = state.withLock { state -> (CheckedContinuation<[[UInt8]]?, Never>?, [[UInt8]]) in
            state.isNotifyPending = false
            guard let waiting = state.waiting, let events = state.take() else { return (nil, []) }
            state.waiting = nil
            return (waiting, events)
        }
        waiting?.resume(returning: events)
    }

    /// Ends the subscription. The subscriber receives the reason as its last event, unless it cancelled itself.
    func end(_ reason: String) { finish(reason, last: [EventBytes.end(reason)]) }

    /// Ends the subscription with its last events, instead of those that wait.
    func complete(with events: [[UInt8]]) { finish("complete", last: events) }

    /// Ends the subscription on behalf of the subscriber.
    func cancel() { finish("cancelled", last: nil) }

    private func finish(_ reason: String, last: [[UInt8]]?) {
        let (waiting, endWaiters) = state.withLock {
            state -> (CheckedContinuation<[[UInt8]]?, Never>?, [CheckedContinuation<String, Never>]) in
            guard state.end == nil else { return (nil, []) }
            state.end = reason
            state.queue.removeAll()
            // A task that waits receives the last events directly.
            state.prologue = state.waiting == nil ? last ?? [] : []
            state.isOpen = true
            let result = (state.waiting, state.endWaiters)
            state.waiting = nil
            state.endWaiters = []
            return result
        }
        waiting?.resume(returning: last)
        for waiter in endWaiters { waiter.resume(returning: reason) }
    }

    /// Removes and returns the events that wait, or nil if there are none.
    func takeWaiting() -> [[UInt8]]? { state.withLock { $0.take() } }

    /// Returns the events that wait, as soon as there are any; nil after the end.
    func next() async -> [[UInt8]]? {
        // Without a continuation if possible, because events often wait after a write.
        if let events = takeWaiting() { return events }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> [[UInt8]]?? in
                    if let events = state.take() { return .some(events) }
                    // A second task that waits would never be resumed.
                    guard state.end == nil, state.waiting == nil else { return .some(nil) }
                    state.waiting = continuation
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Waits until the subscription has ended, and returns the reason.
    func ended() async -> String {
        await withCheckedContinuation { continuation in
            let reason = state.withLock { state in
                if state.end == nil { state.endWaiters.append(continuation) }
                return state.end
            }
            if let reason { continuation.resume(returning: reason) }
        }
    }

    /// Ends the subscription if events have waited longer than `stallTimeout` µs without any being taken.
    /// - Returns: whether the subscription has ended.
    func check(at boot: Int64, stallTimeout: Int64) -> Bool {
        let isStuck = state.withLock { state in
            state.end == nil && state.isOpen && state.queue.stallTime(at: boot) > stallTimeout
        }
        if isStuck { end("too slow: nothing was read for \(stallTimeout / 1_000_000) s") }
        return hasEnded
    }
}
