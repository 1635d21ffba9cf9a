import Glibc
import HummingbirdCore
import Logging
import NIOCore

/// Accepts connections up to a maximum for all clients, and up to one for each address. A further connection gets the
/// status 503 or 429, and is closed.
///
/// Hummingbird's own limit stops accepting instead: idle connections would then keep everyone else out without an
/// answer.
struct LimitedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let connections: OpenConnections
    /// Whether clients expect TLS, so that they would not understand a text.
    let usesTLS: Bool

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        let problem: Problem
        switch connections.add(channel) {
        case .accepted:
            // Otherwise the system keeps megabytes for a client that has read fast, and then stops to read.
            return channel.setOption(Self.unsentLimit, value: Self.unsentBytes)
                .flatMapErrorWithEventLoop { _, loop in loop.makeSucceededVoidFuture() }
                .flatMap { base.setup(channel: channel, logger: logger) }
        case .tooMany:
            problem = .unavailable("the server has too many connections: close some, or try again later")
        case .tooManyOfAddress:
            problem = .tooManyRequests("your address has too many connections: close some, or try again later")
        }
        // The handler closes the channel before any byte of it is read.
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RefusalHandler(usesTLS ? nil : problem))
        }.flatMap { base.setup(channel: channel, logger: logger) }
    }

    /// The bytes that the system accepts for a connection before it has sent the previous ones.
    private static var unsentBytes: SocketOptionValue { 128 << 10 }
    private static var unsentLimit: ChannelOptions.Types.SocketOption {
        .init(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
    }

    func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Answers a connection with a problem and closes it, before any request is read.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let problem: Problem?

    /// - Parameter problem: the answer, or nil to close the connection without one.
    init(_ problem: Problem?) { self.problem = problem }

    func channelActive(context: ChannelHandlerContext) {
        guard let problem else {
            context.close(promise: nil)
            return
        }
        let body = problem.json
        var buffer = context.channel.allocator.buffer(capacity: 512)
        buffer.writeString(
            "HTTP/1.1 \(problem.status) \(problem.title)\r\nContent-Type: application/problem+json\r\n"
                + "Retry-After: 5\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n")
        buffer.writeBytes(body)
        let closing = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        closing.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: closing)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
