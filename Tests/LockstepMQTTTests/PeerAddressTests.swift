import Dispatch
import Glibc
import LockstepTestSupport
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
    private let listener: LoopbackListener
    /// Accepts the connections that are closed at once.
    private let queue = DispatchQueue(label: "peer address test")

    init() throws { listener = try LoopbackListener() }

    /// Connects to the server, and returns the address that the client sees.
    func connectedPeer() -> PeerAddress? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(listener.descriptor, $0, &length) == 0 && connect(client, $0, length) == 0
            }
        }
        return isConnected ? PeerAddress(of: client) : nil
    }

    /// Closes every connection at once, from now on until ``stop()``.
    func closeConnections() {
        let listener = listener
        queue.async { while let connection = listener.accept() { close(connection) } }
    }

    func stop() {
        listener.close()
        queue.sync {}
    }
}
