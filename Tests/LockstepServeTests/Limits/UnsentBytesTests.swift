import HTTPTypes
import LockstepHTTP
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@Suite("Unsent bytes")
struct UnsentBytesTests {
    private let part = HTTPResponsePart.body(ByteBuffer(string: "part"))

    private func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: UnsentBytes(HTTPLimits()))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    @Test("a connection is closed if its client takes nothing for 30 s, however little is waiting")
    func timeout() throws {
        let channel = try connection()
        channel.write(part, promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        // This is progress, after which nothing is waiting.
        channel.flush()
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(channel.isActive)
        channel.write(part, promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(31))
        #expect(!channel.isActive)
    }
}
