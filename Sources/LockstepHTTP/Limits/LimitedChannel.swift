import HummingbirdCore
import Logging
import NIOCore

/// Accepts connections up to a maximum. A further connection gets the status 503 and is closed.
///
/// Hummingbird's own limit stops accepting instead: idle connections would then keep everyone else out without an
/// answer.
struct LimitedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let connections: OpenConnections
    /// Whether clients expect TLS, so that they would not understand a text.
    let usesTLS: Bool

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        if connections.add(channel) { return base.setup(channel: channel, logger: logger) }
        // The handler closes the channel before any byte of it is read.
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RefusalHandler(sendsAnswer: !usesTLS))
        }.flatMap { base.setup(channel: channel, logger: logger) }
    }

    func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Answers a connection with 503 and closes it, before any request is read.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let sendsAnswer: Bool

    init(sendsAnswer: Bool) { self.sendsAnswer = sendsAnswer }

    func channelActive(context: ChannelHandlerContext) {
        guard sendsAnswer else {
            context.close(promise: nil)
            return
        }
        let problem = Problem.unavailable("the server has too many connections: close some, or try again later")
        let body = problem.json
        var buffer = context.channel.allocator.buffer(capacity: 512)
        buffer.writeString(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 5\r\n"
                + "Connection: close\r\nContent-Length: \(body.count)\r\n\r\n")
        buffer.writeBytes(body)
        let closing = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        closing.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: closing)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
