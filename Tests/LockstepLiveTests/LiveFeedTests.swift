import Foundation
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Logging
import Testing

@testable import LockstepLive

@Suite("LiveFeed with a broker", .timeLimit(.minutes(3)))
struct LiveFeedTests {
    private let left = device("left")
    private let right = device("right")

    /// Calls `body` with a feed that runs, and stops the feed afterwards.
    private func withFeed(
        _ broker: TestBroker, limits: LiveLimits = LiveLimits(), _ body: (LiveFeed) async throws -> Void
    ) async throws {
        var configuration = FeedConfiguration(broker: broker.address, clientID: "feed-\(Epoch.random())")
        configuration.limits = limits
        configuration.backoff = Backoff(initial: .milliseconds(50), maximum: .milliseconds(200))
        let feed = LiveFeed(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await feed.run() }
            defer { group.cancelAll() }
            await expectEventually("connected") { feed.status.isConnected }
            try await body(feed)
        }
    }

    private func withClient(_ broker: TestBroker, _ body: (TestClient) async throws -> Void) async throws {
        let client = TestClient(broker.address)
        #expect(await client.waitUntilListening())
        try await body(client)
        await client.stop()
    }

    private func publish(_ client: TestClient, _ message: Message, isRetained: Bool = false) async {
        #expect(await client.publish(message.topic, message.payload, isRetained: isRetained))
    }

    @Test("retained states are known after the connection, and a device that appears later is added")
    func retainedAndLate() async throws {
        try await withBroker { broker in
            try await withClient(broker) { client in
                await publish(client, .state(transition(.active), of: left), isRetained: true)
                try await withFeed(broker) { feed in
                    await expectEventually { feed.picture.read { $0[left]?.transition?.to } == .active }
                    let subscription = try feed.picture.subscribeToStates()
                    var chunks = subscription.makeAsyncIterator()
                    #expect(events(await chunks.next()).map(\.name) == ["state", "ready"])
                    await publish(client, .state(transition(.background), of: right))
                    let next = events(await chunks.next())
                    #expect(next.map(\.name) == ["state"])
                    #expect(next.first?.data.contains(#""device":"right","state":"background""#) == true)
                }
            }
        }
    }

    @Test("each batch reaches a subscriber without waiting for the next one")
    func samplesAreLive() async throws {
        try await withBroker { broker in
            try await withClient(broker) { client in
                try await withFeed(broker) { feed in
                    let subscription = try feed.picture.subscribe(to: SampleRequest(devices: [left], streams: nil))
                    var chunks = subscription.makeAsyncIterator()
                    #expect(events(await chunks.next()).map(\.name) == ["hello"])
                    for second in 0..<3 {
                        await publish(client, .samples(samples(100, from: Double(second)), of: left))
                        let next = events(await chunks.next())
                        #expect(try next.first?.samples() == samples(100, from: Double(second)))
                    }
                }
            }
        }
    }

    @Test(
        "the feed reconnects after a restart of the broker, reports the interruption, and continues its subscriptions")
    func brokerRestart() async throws {
        try await withBroker(isPersistent: true) { broker in
            try await withClient(broker) { client in
                await publish(client, .state(transition(.active, seq: 1), of: left), isRetained: true)
                try await withFeed(broker) { feed in
                    await expectEventually { feed.picture.read { $0[left]?.transition?.seq } == 1 }
                    let subscription = try feed.picture.subscribeToStates()
                    var chunks = subscription.makeAsyncIterator()
                    #expect(events(await chunks.next()).map(\.name) == ["state", "ready"])
                    await broker.stop()
                    await expectEventually { !feed.status.isConnected && feed.status.problem != nil }
                    await #expect(throws: CommandError.self) {
                        try await feed.requests.send(AgentRequest(action: .flush), to: left)
                    }
                    try await broker.start()
                    await expectEventually { feed.status == LiveFeed.Status(isConnected: true) }
                    await publish(client, .state(transition(.background, seq: 2), of: left), isRetained: true)
                    let next = events(await chunks.next())
                    #expect(next.count == 1, "the retained state is no change")
                    #expect(next.first?.data.contains(#""seq":2"#) == true)
                }
            }
        }
    }

    @Test("a refused subscription is a problem, although the connection is established")
    func refusedSubscription() {
        var reports: [LiveFeed.Status] = []
        let configuration = FeedConfiguration(broker: BrokerAddress(host: "localhost", port: 1), clientID: "feed")
        let wakeup = Wakeup()
        let loop = FeedLoop(
            configuration, wakeup: wakeup, picture: LivePicture(root: .standard),
            requests: RequestClient(root: .standard, limit: 1, wakeup: wakeup),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { reports.append($0) }
        let problem = "this user is not allowed to read 'lockstep/#'"
        loop.handle(.denied(filter: "lockstep/#", MQTTError(.notAuthorized, problem)))
        #expect(reports == [LiveFeed.Status(isConnected: false, problem: problem)])
        loop.handle(.ready)
        #expect(reports.last == LiveFeed.Status(isConnected: true))
    }

    @Test("stopping the feed ends its subscriptions with the reason")
    func stopping() async throws {
        try await withBroker { broker in
            let kept = Kept()
            try await withFeed(broker) { feed in
                let subscription = try feed.picture.subscribeToStates()
                var chunks = subscription.makeAsyncIterator()
                #expect(events(await chunks.next()).map(\.name) == ["ready"])
                kept.subscription = subscription
            }
            var last: [Event] = []
            let subscription = try #require(kept.subscription)
            for await chunks in subscription { last = events(chunks) }
            #expect(last.map(\.data) == [#"{"reason":"the server is stopping"}"#])
        }
    }

    private final class Kept { var subscription: LiveSubscription? }
}
