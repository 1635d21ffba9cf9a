/// Keys with the time at which each is due, the earliest first: a binary heap.
///
/// Adding one and taking one out cost time that grows with the logarithm of their number, so that thousands of devices
/// that wait do not have to be looked at again and again.
struct DueQueue<Key> {
    private var heap: [(due: Int64, key: Key)] = []

    /// The earliest time; nil where nobody waits.
    var nextDue: Int64? { heap.first?.due }

    mutating func add(_ key: Key, due: Int64) {
        heap.append((due, key))
        var child = heap.count - 1
        while child > 0, heap[child].due < heap[(child - 1) / 2].due {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the earliest out if it is due at `time`.
    mutating func popDue(at time: Int64) -> (due: Int64, key: Key)? {
        guard let first = heap.first, first.due <= time else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1].due < heap[child].due { child += 1 }
            guard heap[child].due < heap[parent].due else { break }
            heap.swapAt(parent, child)
            parent = child
        }
        return first
    }
}
