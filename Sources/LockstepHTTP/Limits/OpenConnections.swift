package import NIOCore
import Synchronization

/// The open connections, to limit their number, and to close those that are left when the server stops.
package final class OpenConnections: Sendable {
    /// The result of counting a connection.
    package enum Admission: Hashable, Sendable {
        case accepted
        /// There are as many connections as allowed.
        case tooMany
        /// The address of the client has as many connections as allowed.
        case tooManyOfAddress
    }

    /// Their number and its maximum.
    package let counter: ConnectionCounter
    private let addresses: AddressCounter
    private let proxies: TrustedProxies
    private let refusalsOfAddresses = Atomic<Int>(0)
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    package init(_ limits: HTTPLimits) {
        counter = ConnectionCounter(maximum: limits.connections)
        addresses = AddressCounter(maximum: limits.connectionsOfAddress)
        proxies = limits.trustedProxies
    }

    /// The number of connections that were refused since the start.
    package var refused: Int { counter.refused + refusalsOfAddresses.load(ordering: .relaxed) }

    /// Counts a connection until it is closed, unless there are too many.
    package func add(_ channel: any Channel) -> Admission {
        // This machine and proxies have the connections of any number of clients.
        let client = proxies.client(peer: channel.remoteAddress?.ipAddress)
        let place = client.limitKey.map(addresses.enter)
        if case .some(nil) = place {
            refusalsOfAddresses.add(1, ordering: .relaxed)
            return .tooManyOfAddress
        }
        guard counter.enter() else { return .tooMany }
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { [self] _ in
            channels.withLock { $0[id] = nil }
            counter.leave()
            withExtendedLifetime(place) {}
        }
        return .accepted
    }

    package func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
