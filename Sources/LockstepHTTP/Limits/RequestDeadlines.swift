import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Closes connections whose client sends a request too slowly, or sends none.
package final class RequestDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private let limits: HTTPLimits
    /// The number of requests whose answer is not complete.
    private var unanswered = 0
    private var isReadingBody = false
    /// Whether a part of an answer was sent, but not its end.
    private var isAnswering = false
    private var isFirst = true
    /// Ends when a request head, or the rest of a request, is overdue.
    private var reading: Scheduled<Void>?
    /// Whether the client has closed its side of the connection.
    private var isDisconnected = false
    private var disconnectAction: (@Sendable () -> Void)?

    package init(_ limits: HTTPLimits) { self.limits = limits }

    package func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { expectHead(context, limits.headTimeout) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { cancel() }

    package func channelActive(context: ChannelHandlerContext) {
        expectHead(context, limits.headTimeout)
        context.fireChannelActive()
    }

    /// Sets what happens when the client closes its side of the connection; at once if it already has.
    package func onClientDisconnect(_ action: (@Sendable () -> Void)?) {
        disconnectAction = isDisconnected ? nil : action
        if isDisconnected { action?() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { clientDidDisconnect() }
        context.fireUserInboundEventTriggered(event)
    }

    private func clientDidDisconnect() {
        isDisconnected = true
        disconnectAction?()
        disconnectAction = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        clientDidDisconnect()
        cancel()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            isReadingBody = true
            isFirst = false
            schedule(context, after: limits.bodyTimeout)
        case .body: break
        case .end:
            isReadingBody = false
            reading?.cancel()
            reading = nil
            // The answer may be complete before its request, for example if it is 404.
            if unanswered <= 0 { expectHead(context, limits.idleTimeout) }
        }
        context.fireChannelRead(data)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head): isAnswering = head.status.kind != .informational
        case .body: break
        case .end:
            isAnswering = false
            unanswered -= 1
            if unanswered <= 0, !isReadingBody { expectHead(context, limits.idleTimeout) }
        }
        context.write(data, promise: promise)
    }

    private func expectHead(_ context: ChannelHandlerContext, _ limit: Duration) { schedule(context, after: limit) }

    private func schedule(_ context: ChannelHandlerContext, after limit: Duration) {
        reading?.cancel()
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        reading = context.eventLoop.scheduleTask(in: TimeAmount(limit)) {
            bound.value.handler.didExpire(bound.value.context)
        }
    }

    /// Answers a request that is not complete in time, and closes the connection. An idle connection gets no answer.
    private func didExpire(_ context: ChannelHandlerContext) {
        reading = nil
        // An answer that has begun cannot be replaced.
        guard isFirst || (isReadingBody && unanswered == 1 && !isAnswering) else {
            context.close(promise: nil)
            return
        }
        let problem = Problem(
            status: 408, title: "Request timeout",
            detail: "the request was not complete in time: send its head and its body without pauses")
        let body = problem.json
        let head = HTTPResponse(
            status: .requestTimeout,
            headerFields: [
                .contentType: "application/problem+json", .contentLength: "\(body.count)", .connection: "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(ByteBuffer(bytes: body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }

    private func cancel() {
        reading?.cancel()
        reading = nil
    }
}
