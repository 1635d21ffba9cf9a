import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Subscriptions to events of rules")
struct EventSubscriptionTests {
    private let picture = LivePicture(root: .standard, limits: LiveLimits(events: 3), instance: "run-7")
    private let left = device("left")

    private func report(_ id: Int64, acknowledged: Timestamp? = nil) -> StoredEvent {
        StoredEvent(
            id: id,
            event: RuleEvent(
                key: .init(rule: "hot", device: left, time: moment(Double(id)).wall),
                at: moment(Double(id) + 0.5).wall, value: 31.5, text: "too hot", isLate: false),
            acknowledged: acknowledged)
    }

    private func publish(_ id: Int64) {
        picture.handle(Message(left, "event", EventJSON.encode(report(id))), at: 0)
    }

    @Test("a new subscriber receives the last events, then 'ready', then new events")
    func recent() throws {
        for id: Int64 in 1...4 { publish(id) }
        let subscription = try picture.subscribeToEvents()
        let first = subscription.waiting()
        #expect(first.map(\.name) == ["event", "event", "event", "ready"], "the oldest is not kept")
        #expect(first.map(\.id) == [nil, nil, nil, "run-7-4"])
        #expect(
            first[0].data
                == #"{"id":2,"rule":"hot","device":"lab/left","t":1700000002000000,"at":1700000002500000,"value":31.5,"#
                + #""text":"too hot","late":false,"severity":"warning"}"#)
        publish(5)
        publish(5)
        #expect(subscription.waiting().map(\.id) == ["run-7-5"], "a repeated message is no new event")
        #expect(try picture.subscribeToEvents(after: "run-7-4").waiting().map(\.id) == ["run-7-5", "run-7-5"])
        #expect(try picture.subscribeToEvents(after: "run-6-4").waiting().map(\.name).count == 4)
    }

    @Test("an acknowledgement is sent once; that of an event that is not kept has no text")
    func acknowledged() throws {
        publish(1)
        let subscription = try picture.subscribeToEvents()
        _ = subscription.waiting()
        for id: Int64 in [1, 2, 1] {
            let confirmation = StoredAcknowledgement(
                id: id, key: report(id).key, acknowledged: moment(9).wall)
            picture.handle(
                Message(left, "event/acknowledged", EventAcknowledgementJSON.encode(confirmation)), at: 0)
        }
        let changes = subscription.waiting()
        #expect(changes.map(\.name) == ["event", "acknowledged"])
        #expect(changes[0].data.hasSuffix(#""severity":"warning","acknowledged":1700000009000000}"#))
        #expect(
            changes[1].data
                == #"{"id":2,"rule":"hot","device":"lab/left","t":1700000002000000,"acknowledged":1700000009000000}"#)
        #expect(picture.events.map(\.acknowledged) == [moment(9).wall])
    }

    @Test("what a store knows is added once, and not if it is older than what is kept")
    func seed() throws {
        picture.seed([report(2), report(3)])
        publish(4)
        let subscription = try picture.subscribeToEvents()
        _ = subscription.waiting()
        picture.seed([report(1), report(2, acknowledged: moment(9).wall), report(3), report(4)])
        #expect(subscription.waiting().map(\.id) == ["run-7-4"], "only the acknowledgement")
        #expect(picture.events.map(\.id) == [2, 3, 4])
    }

    @Test("after a clock was set back, new events replace those that arrived first")
    func clock() throws {
        for id: Int64 in [10, 11, 12] { publish(id) }
        publish(3)
        #expect(picture.events.map(\.id) == [3, 11, 12])
        picture.seed([report(11), report(12), report(3), report(13)])
        picture.seed([report(10), report(11), report(12), report(3), report(13)])
        #expect(picture.events.map(\.id) == [3, 12, 13], "what was removed does not return")
    }

    @Test("an event that takes too much memory is refused")
    func size() throws {
        for (length, unreadable) in [(15_000, 0), (16_000, 1)] {
            let text = String(repeating: "x", count: length)
            picture.handle(
                topic: "lockstep/lab/left/event", #"{"id":1,"rule":"hot","t":\#(length),"at":6,"text":"\#(text)"}"#)
            #expect(picture.events.map(\.text.count) == [15_000])
            #expect(picture.statistics.unreadable == unreadable)
        }
    }

    @Test("events of a collector's machine have no device")
    func collector() throws {
        picture.handle(
            topic: "lockstep/lab/$collector/main/event",
            #"{"id":1,"rule":"disk","device":null,"t":5,"at":6,"text":"full"}"#)
        #expect(picture.events.map(\.key) == [.init(rule: "disk", device: nil, time: Timestamp(microseconds: 5))])
        picture.handle(
            topic: "lockstep/lab/$collector/main/event/acknowledged",
            #"{"id":1,"rule":"disk","t":5,"acknowledged":7}"#)
        #expect(picture.events[0].acknowledged == Timestamp(microseconds: 7))
        picture.handle(topic: "lockstep/lab/left/event", #"{"id":1}"#)
        #expect(picture.statistics.unreadable == 1)
    }
}

extension LivePicture {
    fileprivate func handle(topic: String, _ payload: String) {
        Array(payload.utf8).withUnsafeBytes {
            _ = handle(topic: topic, payload: $0, contentType: nil, at: moment(0))
        }
    }
}
