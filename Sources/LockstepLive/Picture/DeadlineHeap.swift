/// Deadlines with what is due at them, ordered by time: a binary heap.
struct DeadlineHeap<Element: Sendable>: Sendable {
    private var entries: [(at: Int64, element: Element)] = []

    /// The earliest deadline, in µs of the boot clock.
    var next: Int64? { entries.first?.at }

    /// Adds a deadline.
    mutating func add(_ element: Element, at time: Int64) {
        entries.append((time, element))
        var child = entries.count - 1
        while child > 0, entries[child].at < entries[(child - 1) / 2].at {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the element of the earliest deadline, if it is not after `time`.
    mutating func removeFirst(until time: Int64) -> Element? {
        guard let first = entries.first, first.at <= time else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.element }
        entries[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].at < entries[least].at { least = child }
            guard least != parent else { return first.element }
            entries.swapAt(least, parent)
            parent = least
        }
    }
}
