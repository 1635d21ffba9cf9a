import Glibc
import Synchronization

/// Forwards connections of a loopback port to another one, until they are cut, as by a network that fails.
public final class Relay: Sendable {
    private struct State {
        /// nil while the network is down.
        var listener: LoopbackListener?
        var connections: [Int: (client: Int32, server: Int32)] = [:]
        var last = 0
    }

    /// The port to connect to.
    public let port: UInt16
    private let target: UInt16
    private let state = Mutex(State())

    /// Starts a relay on a free port.
    /// - Parameter target: the loopback port to forward to.
    /// - Throws: ``ProgramError``.
    public init(to target: UInt16) throws(ProgramError) {
        port = try freePort()
        self.target = target
        try restore()
    }

    /// Ends all connections, and refuses new ones.
    public func cut() {
        state.withLock { state in
            state.listener?.close()
            state.listener = nil
            for (client, server) in state.connections.values {
                shutdown(client, Int32(SHUT_RDWR))
                shutdown(server, Int32(SHUT_RDWR))
            }
        }
    }

    /// Accepts connections again.
    /// - Throws: ``ProgramError``.
    public func restore() throws(ProgramError) {
        guard state.withLock({ $0.listener == nil }) else { return }
        let listener = try LoopbackListener(port: port)
        state.withLock { $0.listener = listener }
        try startThread { [self] in
            while let client = listener.accept() {
                guard let server = connectedSocket(port: target) else {
                    close(client)
                    continue
                }
                forward(client, server)
            }
        }
    }

    private func forward(_ client: Int32, _ server: Int32) {
        let number = state.withLock { state in
            state.last += 1
            state.connections[state.last] = (client, server)
            return state.last
        }
        let end: @Sendable () -> Void = { [self] in
            state.withLock { state in
                // Within the lock, so that `cut` does not shut down other sockets with these numbers.
                state.connections[number] = nil
                close(client)
                close(server)
            }
        }
        do {
            try startThread {
                Self.copy(client, server)
                end()
            }
        } catch { end() }
    }

    /// Copies in both directions until one side ends.
    private static func copy(_ client: Int32, _ server: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var polled = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polled, 2, -1) > 0 || errno == EINTR else { return }
            for (index, target) in [server, client].enumerated() where polled[index].revents != 0 {
                let count = recv(polled[index].fd, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                var sent = 0
                while sent < count {
                    let part = buffer[sent..<count].withUnsafeBytes {
                        send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard part > 0 else { return }
                    sent += part
                }
            }
        }
    }
}
