package import NIOCore
package import NIOHTTPTypes

/// Counts the bytes of answers that a connection has not handed to the system yet, because its client does not read. If
/// the client takes no part of them for too long, the connection is closed.
package final class UnsentBytes: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private let timeout: TimeAmount
    private var count = 0
    private var waiting: [EventLoopPromise<Void>] = []
    /// Ends when the client has taken nothing for too long.
    private var deadline: Scheduled<Void>?

    /// - Parameter limits: the limits with the time that a client may leave an answer unread.
    package init(_ limits: HTTPLimits) { timeout = TimeAmount(limits.writeTimeout) }

    package func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(let buffer) = unwrapOutboundIn(data) else {
            context.write(data, promise: promise)
            return
        }
        let size = buffer.readableBytes
        count += size
        if deadline == nil { schedule(context) }
        let promise = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        // Also if the connection closes, with which all writes fail.
        promise.futureResult.whenComplete { _ in bound.value.handler.didEnd(size, bound.value.context) }
        context.write(data, promise: promise)
    }

    private func didEnd(_ size: Int, _ context: ChannelHandlerContext) {
        count -= size
        deadline?.cancel()
        deadline = nil
        guard count == 0 else {
            if context.channel.isActive { schedule(context) }
            return
        }
        let promises = waiting
        waiting = []
        for promise in promises { promise.succeed() }
    }

    private func schedule(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: timeout) { bound.value.close(promise: nil) }
    }

    /// Waits until the client has taken everything that was written, or the connection is closed.
    ///
    /// Without this, a writer would have the next part in memory before the client has taken the previous one.
    package static func untilTaken(_ channel: any Channel) async throws {
        try await channel.eventLoop.flatSubmit {
            guard let handler = try? channel.pipeline.syncOperations.handler(type: UnsentBytes.self), handler.count > 0
            else { return channel.eventLoop.makeSucceededVoidFuture() }
            let promise = channel.eventLoop.makePromise(of: Void.self)
            handler.waiting.append(promise)
            return promise.futureResult
        }.get()
    }
}
