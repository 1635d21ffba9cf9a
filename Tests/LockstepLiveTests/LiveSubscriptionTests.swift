import LockstepModel
import LockstepTestSupport
import LockstepWire
import Synchronization
import Testing

@testable import LockstepLive

@Suite("LiveSubscription")
struct LiveSubscriptionTests {
    private let picture = LivePicture(root: .standard)
    private let left = device("left")

    /// The events that a task has received, and whether its loop has ended.
    private final class Reader: Sendable {
        let received = Mutex<(events: [Event], isFinished: Bool)>(([], false))
        var names: [String?] { received.withLock { $0.events.map(\.name) } }
        var isFinished: Bool { received.withLock { $0.isFinished } }

        func read(_ subscription: LiveSubscription) async {
            for await chunks in subscription { received.withLock { $0.events += events(chunks) } }
            received.withLock { $0.isFinished = true }
        }
    }

    @Test("a waiting task is resumed by events, and ends when the picture is closed", .timeLimit(.minutes(1)))
    func waiting() async throws {
        let subscription = try picture.subscribeToStates()
        let reader = Reader()
        let task = Task { await reader.read(subscription) }
        await expectEventually { reader.names == ["ready"] }
        for seq in 1...3 {
            picture.handle(.state(transition(.active, seq: Int64(seq)), of: left), at: 0)
            await expectEventually { reader.names.count == 1 + seq }
        }
        picture.close("the server is stopping")
        await task.value
        #expect(reader.names == ["ready", "state", "state", "state", "end"])
        #expect(reader.received.withLock { $0.events.last?.data } == #"{"reason":"the server is stopping"}"#)
        #expect(throws: SubscriptionError.closed) { try picture.subscribeToStates() }
    }

    @Test("a cancelled task stops waiting, and its subscription is removed", .timeLimit(.minutes(1)))
    func cancellation() async throws {
        let reader = Reader()
        let task = Task { [picture] in await reader.read(try picture.subscribeToStates()) }
        await expectEventually { reader.names == ["ready"] }
        task.cancel()
        _ = await task.result
        #expect(reader.isFinished)
        await expectEventually { picture.statistics.subscribers == 0 }
    }

    @Test("a subscriber that reads nothing for ten seconds is ended, also if its task is blocked")
    func stuck() async throws {
        let stuck = try picture.subscribe(to: SampleRequest(devices: nil, streams: nil), at: moment(0))
        let reading = try picture.subscribe(to: SampleRequest(devices: nil, streams: nil), at: moment(0))
        _ = stuck.waiting()
        let reason = Task { await stuck.ended() }
        for second in 0..<13 {
            picture.handle(.samples(samples(1, from: Double(second)), of: left), at: Double(second))
            picture.advance(from: Double(second), to: Double(second) + 0.02)
            _ = reading.waiting()
            #expect(picture.statistics.subscribers == (second < 11 ? 2 : 1), "after \(second) s")
        }
        #expect(await reason.value == "too slow: nothing was read for 10 s")
        #expect(stuck.waiting().map(\.name) == ["end"])
    }

    @Test("an idle connection receives an event every 15 seconds, which a page sees")
    func keepAlive() throws {
        picture.advance(from: 0, to: 0)
        let subscription = try picture.subscribeToStates()
        _ = subscription.waiting()
        var times: [Int] = []
        for second in 1...50 {
            picture.advance(from: Double(second), to: Double(second))
            guard let chunks = subscription.subscriber.takeWaiting() else { continue }
            #expect(String(decoding: chunks.joined(), as: UTF8.self) == "event: keep-alive\ndata: {}\n\n")
            times.append(second)
        }
        #expect(times == [15, 30, 45])
    }

    @Test("a subscriber that was cancelled while it waited for its first events is removed")
    func cancelledBefore() async throws {
        let subscription = try picture.subscribeToStates()
        subscription.cancel()
        var count = 0
        for await _ in subscription { count += 1 }
        #expect(count == 0)
        #expect(await subscription.ended() == "cancelled")
        #expect(picture.statistics.subscribers == 0)
    }
}
