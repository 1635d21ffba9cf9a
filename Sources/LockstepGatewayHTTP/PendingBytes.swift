import Synchronization

/// Counts the bytes of request bodies that are in memory, up to a maximum.
final class PendingBytes: Sendable {
    private let maximum: Int
    private let current = Atomic<Int>(0)

    init(maximum: Int) { self.maximum = maximum }

    /// Counts bytes, or returns false if there would be too many.
    func enter(_ count: Int) -> Bool {
        if current.add(count, ordering: .relaxed).newValue <= maximum { return true }
        leave(count)
        return false
    }

    /// Counts bytes that are no longer in memory.
    func leave(_ count: Int) { current.subtract(count, ordering: .relaxed) }
}
