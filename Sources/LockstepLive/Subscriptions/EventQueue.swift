import Synchronization

/// The events that wait for one subscriber, bounded in bytes.
struct EventQueue {
    /// What happens if the queue is full.
    enum Overflow {
        /// The oldest samples are dropped, and the subscriber is told their number.
        case dropsSamples
        /// The subscriber is ended, because a missing event would mislead it.
        case ends
        /// There is no limit, because the caller adds an event only to an empty queue.
        case unlimited
    }

    private struct Item {
        let bytes: [UInt8]
        /// The number of samples; 0 for an event that must not be dropped.
        let samples: Int
    }

    private let limit: Int
    private let overflow: Overflow
    private var items = RingQueue<Item>()
    /// The size of all events, in bytes.
    private(set) var bytes = 0
    /// The number of samples that were dropped since the last ``take()``.
    private(set) var dropped: Int64 = 0
    /// The number of times that events were taken.
    private var takes = 0
    /// The number of takes and the time at the last progress; nil before the first check.
    private var progress: (takes: Int, at: Int64)?

    init(limit: Int, overflow: Overflow) {
        self.limit = limit
        self.overflow = overflow
    }

    /// Whether nothing waits.
    var isEmpty: Bool { items.isEmpty && dropped == 0 }

    /// Adds an event.
    /// - Parameter samples: the number of samples in the event; 0 for an event that must not be dropped.
    /// - Returns: false if there is no space for it and the subscriber must be ended.
    mutating func add(_ event: [UInt8], samples: Int) -> Bool {
        items.append(Item(bytes: event, samples: samples))
        bytes += event.count
        guard bytes > limit, overflow != .unlimited else { return true }
        guard overflow == .dropsSamples else { return false }
        // The queue of a slow subscriber is full at each event, so only its start is searched.
        var kept: [Item] = []
        while bytes > limit, let item = items.removeFirst() {
            if item.samples > 0 {
                bytes -= item.bytes.count
                dropped += Int64(item.samples)
            } else {
                kept.append(item)
            }
        }
        for item in kept.reversed() { items.prepend(item) }
        return bytes <= limit
    }

    /// Records samples that were dropped before they became an event.
    mutating func drop(_ samples: Int64) { dropped += samples }

    /// Removes and returns all events, in order. If samples were dropped, the first event is their number.
    mutating func take() -> [[UInt8]] {
        var events: [[UInt8]] = []
        events.reserveCapacity(items.count + 1)
        if dropped > 0 { events.append(EventBytes.event("dropped", data: Array("{\"samples\":\(dropped)}".utf8))) }
        while let item = items.removeFirst() { events.append(item.bytes) }
        dropped = 0
        bytes = 0
        takes += 1
        return events
    }

    mutating func removeAll() {
        items = RingQueue()
        bytes = 0
        dropped = 0
    }

    /// Returns the time for which events have waited without any being taken, in µs. Call it regularly.
    mutating func stallTime(at boot: Int64) -> Int64 {
        guard let last = progress, !isEmpty, last.takes == takes else {
            progress = (takes, boot)
            return 0
        }
        return boot - last.at
    }
}

/// The number of samples that slow subscribers have missed, over all subscriptions.
final class DroppedSamples: Sendable {
    private let total = Atomic<Int64>(0)

    var count: Int64 { total.load(ordering: .relaxed) }

    func add(_ samples: Int64) {
        if samples > 0 { total.add(samples, ordering: .relaxed) }
    }
}
