package import NIOCore
import Synchronization

/// The open connections, to close those that are left when the server stops.
package final class OpenConnections: Sendable {
    /// Their number and its maximum.
    package let counter: ConnectionCounter
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    package init(maximum: Int) { counter = ConnectionCounter(maximum: maximum) }

    /// Counts a connection until it is closed, or returns false if there are too many.
    package func add(_ channel: any Channel) -> Bool {
        guard counter.enter() else { return false }
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { [self] _ in
            channels.withLock { $0[id] = nil }
            counter.leave()
        }
        return true
    }

    /// Closes all connections.
    package func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
