import Synchronization

/// Counts what clients hold at the same time, such as connections or event streams, up to a maximum for each address.
package final class AddressCounter: Sendable {
    /// The maximum for one address.
    package let maximum: Int
    private let counts = Mutex<[String: Int]>([:])

    /// One of the things that are counted, until it is released.
    package final class Place: Sendable {
        private let counter: AddressCounter
        private let address: String

        fileprivate init(_ counter: AddressCounter, _ address: String) {
            self.counter = counter
            self.address = address
        }

        deinit { counter.leave(address) }
    }

    package init(maximum: Int) { self.maximum = maximum }

    /// The number of addresses that hold something.
    package var addresses: Int { counts.withLock { $0.count } }

    /// Counts one more for an address, or returns nil if its maximum is reached.
    package func enter(_ address: String) -> Place? {
        let isAllowed = counts.withLock { counts in
            guard counts[address, default: 0] < maximum else { return false }
            counts[address, default: 0] += 1
            return true
        }
        return isAllowed ? Place(self, address) : nil
    }

    private func leave(_ address: String) {
        counts.withLock { counts in
            let count = counts[address, default: 0] - 1
            counts[address] = count > 0 ? count : nil
        }
    }
}
