import LockstepModel
import LockstepRules
import Testing

@testable import LockstepCollector
@testable import LockstepStore

@Suite("Notifications by MQTT")
struct NotificationsTests {
    private struct Failure: Error {}

    private func notifications(_ count: Int64 = 3, isRetained: Bool = false) -> Notifications {
        var notifications = Notifications()
        notifications.setRules(RuleSet(ways: ["broker": .mqtt(isRetained: isRetained)]))
        notifications.add((1...count).map { delivery($0) })
        return notifications
    }

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

    private func delivery(_ id: Int64) -> EventDelivery {
        let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
        let event = RuleEvent(
            key: .init(rule: "a", device: device, time: Timestamp(microseconds: id)),
            at: Timestamp(microseconds: id), value: nil, text: "text", isLate: false, ways: ["broker"])
        return EventDelivery(
            id: id, event: StoredEvent(id: id, event: event), way: "broker", state: .pending,
            attempts: 0, due: Timestamp(microseconds: 0), error: nil)
    }

    @Test("a notification that cannot be published does not hold up the next ones")
    func failure() {
        var notifications = notifications()
        var published: [Int64] = []
        notifications.publish(at: Timestamp(microseconds: 10)) { delivery, _ in
            guard delivery.id != 2 else { throw Failure() }
            published.append(delivery.id)
            return Int32(delivery.id)
        }
        #expect(published == [1, 3])
        #expect(notifications.unpublished.isEmpty)
        let results = notifications.takeResults()
        #expect(results.map(\.id) == [2] && results.map(\.state) == [.pending] && results.map(\.attempts) == [1])
    }

    @Test("a notification that the broker refuses stays pending, and is published again when it is due")
    func refused() {
        var notifications = notifications()
        notifications.publish(at: time(10)) { delivery, _ in Int32(delivery.id) }
        notifications.didPublish(id: 1, refusal: nil, at: time(10))
        notifications.didPublish(id: 2, refusal: "not authorized", at: time(10))
        let results = notifications.takeResults()
        #expect(results.map(\.state) == [.sent, .pending] && results.last?.error == "not authorized")
        #expect(results.last?.due == time(11))
        #expect(!notifications.hasUnpublished(at: time(10)))
        #expect(notifications.hasUnpublished(at: time(11)))
        var published: [Int64] = []
        notifications.publish(at: time(11)) { delivery, _ in
            published.append(delivery.id)
            return 7
        }
        notifications.didPublish(id: 7, refusal: "not authorized", at: time(86_410))
        #expect(published == [2])
        #expect(notifications.takeResults().map(\.state) == [.dead], "after a day")
        #expect(!notifications.hasUnpublished(at: time(90_000)))
    }

    @Test("actions on sessions are taken once, and again after a transaction that was rolled back")
    func records() {
        var notifications = Notifications()
        notifications.setRules(RuleSet(ways: ["broker": .record(.stop(session: "walk"))]))
        notifications.add((1...3).map { delivery($0) })
        #expect(notifications.takeRecords().map(\.delivery.id) == [1, 2, 3] && notifications.unpublished.isEmpty)
        notifications.rollBack()
        notifications.add([delivery(4)])
        #expect(notifications.takeRecords().map(\.delivery.id) == [1, 2, 3, 4])
        notifications.didCommit()
        notifications.rollBack()
        #expect(notifications.takeRecords().isEmpty)
    }

    @Test("a repeated notification is not retained, because a newer one may be")
    func retained() {
        var notifications = notifications(2, isRetained: true)
        var retained: [Bool] = []
        let publish = { (delivery: EventDelivery, isRetained: Bool) -> Int32? in
            retained.append(isRetained)
            return Int32(delivery.id)
        }
        notifications.publish(at: time(10), publish)
        notifications.didPublish(id: 1, refusal: "not authorized", at: time(10))
        notifications.publish(at: time(11), publish)
        #expect(retained == [true, true, false])
    }

    @Test("refused notifications do not exceed the limit either")
    func manyRefused() {
        var notifications = notifications(150)
        var published: [Int64] = []
        let publish = { (delivery: EventDelivery, _: Bool) -> Int32? in
            published.append(delivery.id)
            return Int32(delivery.id)
        }
        notifications.publish(at: time(10), publish)
        for id: Int32 in 1...100 { notifications.didPublish(id: id, refusal: "not authorized", at: time(10)) }
        notifications.publish(at: time(10), publish)
        #expect(published.suffix(50) == Array(101...150)[...])
        #expect(!notifications.hasUnpublished(at: time(10)))
        #expect(notifications.hasUnpublished(at: time(11)))
        notifications.publish(at: time(11), publish)
        #expect(published.suffix(50) == Array(1...50)[...])
        #expect(!notifications.hasUnpublished(at: time(11)), "the limit is reached")
        for id: Int32 in 101...150 { notifications.didPublish(id: id, refusal: nil, at: time(11)) }
        #expect(notifications.hasUnpublished(at: time(11)))
        notifications.publish(at: time(11), publish)
        #expect(published.suffix(50) == Array(51...100)[...])
    }

    @Test("after an outage, at most some notifications wait for the broker's acknowledgement")
    func many() {
        var notifications = notifications(250)
        var published: [Int64] = []
        let publish = { (delivery: EventDelivery, _: Bool) -> Int32? in
            published.append(delivery.id)
            return Int32(delivery.id)
        }
        notifications.publish(publish)
        #expect(published == Array(1...100))
        #expect(!notifications.hasUnpublished(at: Timestamp(microseconds: 0)))
        for id: Int32 in 1...60 { notifications.didPublish(id: id, refusal: nil) }
        notifications.publish(publish)
        #expect(published == Array(1...160))
        notifications.didDisconnect()
        #expect(notifications.unpublished.map(\.id) == Array(61...250), "in their order")
    }

    @Test("without a connection, notifications wait in their order")
    func disconnected() {
        var notifications = notifications()
        notifications.publish { delivery, _ in delivery.id < 2 ? 1 : nil }
        #expect(notifications.unpublished.map(\.id) == [2, 3])
        notifications.didDisconnect()
        #expect(notifications.unpublished.map(\.id) == [1, 2, 3])
    }

    @Test("a way that the rules no longer publish by MQTT does not hold up others")
    func changedWay() {
        var notifications = notifications()
        notifications.setRules(RuleSet())
        notifications.publish { _, _ in
            Issue.record("nothing is to be published")
            return 1
        }
        #expect(notifications.unpublished.isEmpty)
    }
}
