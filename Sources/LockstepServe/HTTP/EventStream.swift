import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
import LockstepLive
import LockstepTransfer
import NIOCore

/// Sends a subscription as Server-Sent Events.
enum EventStream {
    /// The time in which the last event must be sent.
    private static let lastEventTimeout = Duration.seconds(2)

    /// The answer to `HEAD`: that of `GET` without its body. It subscribes to nothing.
    static var head: Response {
        Response(status: .ok, headers: headers, body: ResponseBody { try await $0.finish(nil) })
    }

    private static let headers: HTTPFields = {
        var fields: HTTPFields = [
            .contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close",
        ]
        // nginx and others would collect events until a buffer is full.
        if let name = HTTPField.Name("X-Accel-Buffering") { fields[name] = "no" }
        return fields
    }()

    /// Returns an answer that continues until the subscription ends or the client goes away.
    /// - Parameter place: released with the answer.
    static func response(
        _ subscription: LiveSubscription, _ call: APICall, counter: ConnectionCounter, place: AddressCounter.Place
    ) -> Response {
        let (channel, memory) = (call.channel, call.memory)
        let request = call.request
        let isCompressed = Gzip.isAccepted(request.headers)
        var headers = Self.headers
        if isCompressed { headers[.contentEncoding] = "gzip" }
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                _ = counter.enter()
                let watch = Task { await close(channel, after: subscription) }
                defer {
                    watch.cancel()
                    subscription.cancel()
                    counter.leave()
                    withExtendedLifetime(place) {}
                }
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    let gzip = isCompressed ? Gzip(isSmall: true) : nil
                    for await events in subscription {
                        // One buffer of the exact size: all events of a client are one write.
                        var buffer = ByteBuffer()
                        buffer.reserveCapacity(events.reduce(0) { $0 + $1.count })
                        for event in events { buffer.writeBytes(event) }
                        if let gzip {
                            buffer = ByteBuffer(bytes: gzip.compress(Array(buffer.readableBytesView), .allSoFar))
                        }
                        try await memory.write(buffer, to: &writer)
                    }
                }
                try await writer.finish(nil)
            })
    }

    /// Closes the connection after the end of the subscription: a client that does not read would keep it open.
    private static func close(_ channel: any Channel, after subscription: LiveSubscription) async {
        _ = await subscription.ended()
        try? await Task.sleep(for: lastEventTimeout)
        if !Task.isCancelled { channel.close(promise: nil) }
    }
}
