import Synchronization

/// Counts what exists at the same time, such as open connections, up to a maximum.
package final class ConnectionCounter: Sendable {
    package let maximum: Int
    private let current = Atomic<Int>(0)
    private let refusals = Atomic<Int>(0)

    package init(maximum: Int) { self.maximum = maximum }

    package var count: Int { current.load(ordering: .relaxed) }
    /// The number of refusals since the start.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    /// Counts one more, or returns false if the maximum is reached.
    package func enter() -> Bool {
        if current.add(1, ordering: .relaxed).newValue <= maximum { return true }
        leave()
        refusals.add(1, ordering: .relaxed)
        return false
    }

    /// Counts one less.
    package func leave() { current.subtract(1, ordering: .relaxed) }
}
