package import NIOCore
import NIOPosix

extension HTTPListener {
    /// The threads of all servers of this process. They are never stopped: a connection that ends late would report that its
    /// event loop has shut down.
    package static let eventLoops: any EventLoopGroup = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    /// Checks that a server can start: that its certificate and key can be read and belong together, and that its address
    /// can be used.
    ///
    /// Programs call this before they do anything that others notice. Otherwise a program that cannot start would, for
    /// example, have taken over a session of the broker, or have left a status there.
    /// - Throws: an error that says what to do.
    package static func check(
        _ address: ListenAddress, tls files: (certificateFile: String, keyFile: String)?
    ) async throws {
        if let files { _ = try tlsConfiguration(files) }
        do {
            let channel = try await ServerBootstrap(group: eventLoops)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                // Otherwise a client that connects meanwhile would be accepted, and would never get an answer.
                .serverChannelOption(.autoRead, value: false)
                .bind(host: address.host, port: address.port).get()
            try await channel.close()
        } catch { throw ServerError.explaining(error, at: address) }
    }
}
