/// A priority queue of keys ordered by deadline, earliest first. Implemented as a binary heap.
///
/// Insertion and removal take O(log n), so thousands of devices can wait without being scanned on every turn.
package struct DeadlineQueue<Key> {
    // Inlinable, because it is used for each message in other modules.
    @usableFromInline var heap: [(deadline: Int64, key: Key)] = []

    @inlinable
    package init() {}

    /// The earliest deadline, or nil if the queue is empty.
    @inlinable package var nextDeadline: Int64? { heap.first?.deadline }

    @inlinable
    package mutating func add(_ key: Key, deadline: Int64) {
        heap.append((deadline, key))
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the earliest entry, or nil if its deadline is after `time`.
    @inlinable
    package mutating func popExpired(at time: Int64) -> (deadline: Int64, key: Key)? {
        guard let first = heap.first, first.deadline <= time else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
            guard heap[child].deadline < heap[parent].deadline else { break }
            heap.swapAt(parent, child)
            parent = child
        }
        return first
    }
}

extension DeadlineQueue: Sendable where Key: Sendable {}
