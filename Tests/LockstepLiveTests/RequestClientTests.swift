import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("RequestClient")
struct RequestClientTests {
    @Test("a request whose time is over is not sent")
    func expired() async {
        let client = RequestClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didConnect()
        let key = RuleEvent.Key(rule: "hot", device: device("left"), time: moment(0).wall)
        let answer = Task { try await client.acknowledge(key, collectors: [], timeout: 0) }
        await expectEventually("the request") { client.nextDeadline != nil }
        client.advance(to: .max) { _ in
            Issue.record("it is sent")
            return 1
        }
        await #expect(throws: CommandError.self) { try await answer.value }
    }

    private let key = RuleEvent.Key(rule: "disk", device: nil, time: moment(0).wall)
    private let collectors = ["one", "two"].map {
        CollectorAddress(group: .standard, collector: CollectorID(unchecked: $0))
    }

    /// Starts a request to both collectors, which has sent the messages 1 and 2.
    private func request(
        _ client: RequestClient
    ) async -> Task<StoredAcknowledgement, any Error> {
        let answer = Task { try await client.acknowledge(key, collectors: collectors, timeout: .max / 2) }
        var sent: [String] = []
        await expectEventually("the request") {
            sent += topics(client)
            return sent.count == 2
        }
        #expect(sent.sorted() == ["one", "two"].map { "lockstep/default/$collector/\($0)/event/acknowledge" })
        return answer
    }

    /// Returns the topics of the messages that the client sends. Their ids start at 1.
    private func topics(_ client: RequestClient) -> [String] {
        var topics: [String] = []
        client.advance(to: 0) { message in
            topics.append(message.topic)
            return Int32(topics.count)
        }
        return topics
    }

    @Test("a request that needs no confirmation ends when the broker has it, or refuses it", arguments: [false, true])
    func published(isRefused: Bool) async throws {
        let client = RequestClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didConnect()
        let answer = Task { try await client.publish([1], to: "a/b", timeout: .max / 2) }
        var sent: [String] = []
        await expectEventually("the request") {
            sent += topics(client)
            return sent == ["a/b"]
        }
        client.didPublish(1, refusal: isRefused ? MQTTError(.other, "not allowed") : nil)
        if isRefused {
            await #expect(throws: CommandError.self) { try await answer.value }
        } else {
            try await answer.value
        }
        #expect(client.nextDeadline == nil)
    }

    @Test("a request may wait for a connection, then names the reason why there was none, and is refused after the end")
    func waiting() async throws {
        let client = RequestClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didDisconnect("connection refused")
        await #expect(throws: CommandError.notConnected("connection refused")) {
            try await client.publish([1], to: "a/b")
        }
        let answer = Task { try await client.publish([1], to: "a/b", timeout: 0, waitsForConnection: true) }
        await expectEventually("the request") { client.nextDeadline != nil }
        client.advance(to: .max) { _ in nil }
        await #expect(throws: CommandError.notConnected("connection refused")) { try await answer.value }
        client.close()
        await #expect(throws: CommandError.cancelled) {
            try await client.publish([1], to: "a/b", waitsForConnection: true)
        }
    }

    @Test("an event that no known collector can have is not confirmed")
    func nobody() async {
        let client = RequestClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didConnect()
        await #expect(throws: CommandError.notConfirmed) {
            try await client.acknowledge(key, collectors: [], timeout: .max / 2)
        }
    }

    @Test("a request to several collectors fails when the broker has refused it for all of them")
    func refused() async throws {
        let client = RequestClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didConnect()
        let first = await request(client)
        client.didPublish(1, refusal: MQTTError(.other, "not allowed"))
        #expect(client.nextDeadline != nil, "the other collector may confirm it")
        let confirmation = StoredAcknowledgement(id: 7, key: key, acknowledged: moment(1).wall)
        client.handle(confirmation)
        #expect(try await first.value == confirmation)
        let second = await request(client)
        client.didPublish(2, refusal: MQTTError(.other, "not allowed"))
        client.didPublish(1, refusal: MQTTError(.other, "not allowed"))
        await #expect(throws: CommandError.self) { try await second.value }
    }

    @Test("after a new connection a request is sent again; one confirmation answers all requests for its event")
    func reconnection() async throws {
        let client = RequestClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didConnect()
        let answers = [await request(client), await request(client)]
        #expect(topics(client).isEmpty)
        client.didDisconnect("the broker is away")
        await #expect(throws: CommandError.notConnected("the broker is away")) {
            try await client.acknowledge(key, collectors: collectors)
        }
        client.didConnect()
        #expect(topics(client).count == 4)
        let confirmation = StoredAcknowledgement(id: 7, key: key, acknowledged: moment(1).wall)
        client.handle(confirmation)
        for answer in answers { #expect(try await answer.value == confirmation) }
        #expect(client.nextDeadline == nil)
    }
}
