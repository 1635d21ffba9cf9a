import Foundation
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Logging
import Testing

@testable import LockstepLive

@Suite("RequestClient with a broker", .timeLimit(.minutes(3)))
struct BrokerRequestTests {
    private let left = device("left")

    /// Calls `body` with a feed that is connected, and a client that receives its requests.
    private func withFeed(requests: Int = 1000, _ body: (LiveFeed, TestClient, TestBroker) async throws -> Void)
        async throws
    {
        try await withBroker(isPersistent: true) { broker in
            var configuration = FeedConfiguration(broker: broker.address, clientID: "feed")
            configuration.limits.requests = requests
            configuration.backoff = Backoff(initial: .milliseconds(50), maximum: .milliseconds(200))
            let feed = LiveFeed(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let task = Task { await feed.run() }
            let agent = TestClient(broker.address, filters: ["lockstep/+/+/command"], keepsSession: true)
            #expect(await agent.waitUntilListening())
            await expectEventually { feed.status.isConnected }
            try await body(feed, agent, broker)
            feed.stop()
            await task.value
            await agent.stop()
        }
    }

    private func reply(_ agent: TestClient, id: String, _ outcome: AgentReply.Outcome) async {
        let payload = ReplyJSON.encode(AgentReply(id: id, outcome: outcome))
        #expect(await agent.publish("lockstep/lab/left/command/reply", payload))
    }

    @Test("requests of several tasks receive their own replies, also refusals")
    func replies() async throws {
        try await withFeed { feed, agent, _ in
            async let first = feed.requests.send(AgentRequest(id: "1", action: .flush), to: left)
            async let second = feed.requests.send(AgentRequest(id: "2", action: .phase(.background)), to: left)
            await expectEventually { agent.messages.count == 2 }
            await reply(agent, id: "0", .flushed(batches: 9))
            await reply(agent, id: "2", .failed("no such phase"))
            await reply(agent, id: "1", .flushed(batches: 3))
            let (accepted, refused) = try await (first, second)
            #expect(accepted.reply.outcome == .flushed(batches: 3))
            #expect(
                String(decoding: refused.payload, as: UTF8.self) == #"{"id":"2","ok":false,"error":"no such phase"}"#)
        }
    }

    @Test("without a reply, a request fails in time; a cancelled one fails at once; too many are refused")
    func failures() async throws {
        try await withFeed(requests: 1) { feed, _, _ in
            let start = ContinuousClock.now
            await #expect(throws: CommandError.noReply(device: "lab/left")) {
                try await feed.requests.send(AgentRequest(action: .flush), to: left, timeout: 300_000)
            }
            let duration = ContinuousClock.now - start
            #expect(duration >= .milliseconds(300) && duration < .seconds(5))
            let waiting = Task { try await feed.requests.send(AgentRequest(action: .flush), to: left) }
            await expectEventually { feed.requests.nextDeadline != nil }
            await #expect(throws: CommandError.tooManyRequests(limit: 1)) {
                try await feed.requests.send(AgentRequest(action: .flush), to: left)
            }
            waiting.cancel()
            await #expect(throws: CommandError.cancelled) { try await waiting.value }
            #expect(feed.requests.nextDeadline == nil)
        }
    }

    @Test("many requests whose replies arrive at once all receive them")
    func fastReplies() async throws {
        try await withFeed { feed, agent, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        let request = AgentRequest(id: "\(index)", action: .flush)
                        let result = try await feed.requests.send(request, to: left, timeout: 60_000_000)
                        #expect(result.reply.id == "\(index)")
                    }
                }
                for index in 0..<50 {
                    await expectEventually { agent.messages.count > index }
                    let id = agent.messages[index].text.split(separator: "\"").dropFirst(2).first { $0 != ":" }
                    await reply(agent, id: String(id ?? ""), .flushed(batches: 1))
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("a request of a cancelled task is cancelled")
    func cancelledBefore() async throws {
        try await withFeed { feed, _, _ in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await feed.requests.send(AgentRequest(action: .flush), to: left)
            }
            await #expect(throws: CommandError.cancelled) { try await task.value }
            #expect(feed.requests.nextDeadline == nil)
        }
    }

    @Test("a request is sent again after a restart of the broker, and then receives its reply")
    func restart() async throws {
        try await withFeed { feed, agent, broker in
            async let result = feed.requests.send(AgentRequest(id: "1", action: .flush), to: left, timeout: 60_000_000)
            await expectEventually { agent.messages.count == 1 }
            await broker.stop()
            await expectEventually { !feed.status.isConnected }
            try await broker.start()
            await expectEventually { agent.messages.count >= 2 }
            await reply(agent, id: "1", .flushed(batches: 1))
            let accepted = try await result
            #expect(accepted.reply.outcome == .flushed(batches: 1))
        }
    }

    @Test("a request that the broker refuses fails with its reason")
    func refusal() async throws {
        try await withTemporaryFolder { folder in
            try "topic read lockstep/#\n".write(toFile: folder + "/acl", atomically: true, encoding: .utf8)
            try await withBroker(settings: ["acl_file \(folder)/acl"]) { broker in
                let configuration = FeedConfiguration(broker: broker.address, clientID: "feed")
                let feed = LiveFeed(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                let task = Task { await feed.run() }
                await expectEventually { feed.status.isConnected }
                await #expect {
                    try await feed.requests.send(AgentRequest(action: .flush), to: left)
                } throws: { error in
                    if case CommandError.refused? = error as? CommandError { true } else { false }
                }
                feed.stop()
                await task.value
            }
        }
    }
}
