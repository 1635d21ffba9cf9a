import Dispatch
import Glibc
import Testing

@testable import LockstepMQTT

@Suite("Peer address")
struct PeerAddressTests {
    @Test("a listening peer is found, and a closed one is not")
    func listening() throws {
        let server = try Server()
        let peer = try #require(server.connectedPeer())
        #expect(peer.isListening())
        server.stop()
        #expect(!peer.isListening())
    }

    @Test("a peer that closes connections at once is not listening")
    func closing() throws {
        let server = try Server()
        let peer = try #require(server.connectedPeer())
        server.closeConnections()
        // On a busy machine the server may need long to accept the connection. The check returns as soon as it is closed.
        #expect(!peer.isListening(openFor: 120_000))
        server.stop()
    }

    @Test("a socket without a connection has no peer")
    func unconnected() {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        #expect(PeerAddress(of: descriptor) == nil)
    }
}

/// A TCP server on a loopback port.
private final class Server: Sendable {
    private struct SetupError: Error {}

    private let descriptor: Int32
    /// Accepts the connections that are closed at once.
    private let queue = DispatchQueue(label: "peer address test")

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, listen(descriptor, 10) == 0 else { throw SetupError() }
    }

    /// Connects to the server, and returns the address that the client sees.
    func connectedPeer() -> PeerAddress? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length) == 0 && connect(client, $0, length) == 0
            }
        }
        return isConnected ? PeerAddress(of: client) : nil
    }

    /// Closes every connection at once, from now on until ``stop()``.
    func closeConnections() {
        let descriptor = descriptor
        queue.async {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                close(connection)
            }
        }
    }

    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        // Another test may get the number of the closed descriptor, and must not lose its connections.
        queue.sync {}
        close(descriptor)
    }
}
