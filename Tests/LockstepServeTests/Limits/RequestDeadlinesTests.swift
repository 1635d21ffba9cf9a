import HTTPTypes
import LockstepHTTP
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import LockstepServe

@Suite("RequestDeadlines")
struct RequestDeadlinesTests {
    private let request = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/")

    /// Returns a connection on which the head of a request has arrived, but not its end.
    private func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: RequestDeadlines(HTTPLimits()))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(HTTPRequestPart.head(request))
        return channel
    }

    @Test("a request that is not complete in time is answered with 408")
    func incomplete() throws {
        let channel = try connection()
        channel.embeddedEventLoop.advanceTime(by: .seconds(21))
        guard case .head(let head) = try channel.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("there is no answer")
            return
        }
        #expect(head.status == .requestTimeout && !channel.isActive)
    }

    @Test("an answer that has begun is not followed by a second one")
    func begun() throws {
        let channel = try connection()
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        _ = try channel.readOutbound(as: HTTPResponsePart.self)
        channel.embeddedEventLoop.advanceTime(by: .seconds(21))
        #expect(try channel.readOutbound(as: HTTPResponsePart.self) == nil)
        #expect(!channel.isActive)
    }

    @Test("a connection is idle also if an answer was complete before its request")
    func earlyAnswer() throws {
        let channel = try connection()
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .notFound)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .seconds(74))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
    }
}
