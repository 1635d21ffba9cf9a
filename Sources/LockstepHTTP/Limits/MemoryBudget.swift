import Synchronization

/// The bytes that are kept in memory for clients, such as answers that they have not taken yet, up to a maximum for all
/// of them and up to a quarter of it for each.
package final class MemoryBudget: Sendable {
    private struct State {
        var total = 0
        var byClient: [String: Int] = [:]

        mutating func add(_ bytes: Int, for client: String?) {
            total += bytes
            guard let client else { return }
            let own = byClient[client, default: 0] + bytes
            byClient[client] = own > 0 ? own : nil
        }
    }

    /// The maximum for all clients, in bytes.
    package let maximum: Int
    /// The part of the maximum that one client may use.
    private static let clientPart = 0.25

    private let state = Mutex(State())

    package init(maximum: Int) { self.maximum = maximum }

    /// The present number of bytes.
    package var reserved: Int { state.withLock { $0.total } }

    /// Reserves bytes, or returns nil if there is no room for them.
    ///
    /// What is larger than the share of a client is only possible while the client has nothing else, so that a small
    /// maximum slows clients down, but refuses nothing for ever.
    /// - Parameters:
    ///   - client: the name under which the client is counted; nil if only the maximum for all applies.
    ///   - part: the part of the maximum that may be used for this purpose.
    package func reserve(_ bytes: Int, for client: String?, part: Double = 1) -> Reservation? {
        let limit = Double(maximum) * part
        let isPossible = state.withLock { state in
            let own = client.map { state.byClient[$0, default: 0] } ?? 0
            guard state.total == 0 || Double(state.total + bytes) <= limit,
                client == nil || own == 0 || Double(own + bytes) <= limit * Self.clientPart
            else { return false }
            state.add(bytes, for: client)
            return true
        }
        return isPossible ? Reservation(self, client, bytes) : nil
    }

    /// Bytes that are reserved until the reservation is released.
    package final class Reservation: Sendable {
        private let budget: MemoryBudget
        private let client: String?
        private let bytes: Atomic<Int>

        fileprivate init(_ budget: MemoryBudget, _ client: String?, _ bytes: Int) {
            self.budget = budget
            self.client = client
            self.bytes = Atomic(bytes)
        }

        /// Corrects the number of bytes once it is known, without a check.
        package func resize(to count: Int) {
            let former = bytes.exchange(count, ordering: .relaxed)
            budget.state.withLock { $0.add(count - former, for: client) }
        }

        deinit { resize(to: 0) }
    }
}
