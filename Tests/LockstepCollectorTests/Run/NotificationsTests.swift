import LockstepModel
import LockstepRules
import Testing

@testable import LockstepCollector
@testable import LockstepStore

@Suite("Notifications by MQTT")
struct NotificationsTests {
    private struct Failure: Error {}

    private func notifications() -> Notifications {
        var notifications = Notifications()
        notifications.rules.ways = ["broker": .mqtt(isRetained: false)]
        notifications.add((1...3).map { delivery($0) })
        return notifications
    }

    private func delivery(_ id: Int64) -> EventDelivery {
        let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
        let event = NewEvent(
            rule: "a", device: device, time: Timestamp(microseconds: id), at: Timestamp(microseconds: id), value: nil,
            text: "text", isLate: false, ways: ["broker"])
        return EventDelivery(
            id: id, event: StoredEvent(id: id, event: event, acknowledged: nil), way: "broker", state: .pending,
            attempts: 0, due: Timestamp(microseconds: 0), error: nil)
    }

    @Test("a notification that cannot be published does not hold up the next ones")
    func failure() {
        var notifications = notifications()
        var published: [Int64] = []
        notifications.publish { delivery, _ in
            guard delivery.id != 2 else { throw Failure() }
            published.append(delivery.id)
            return Int32(delivery.id)
        }
        #expect(published == [1, 3])
        #expect(notifications.unpublished.isEmpty)
        let results = notifications.takeResults()
        #expect(results.map(\.id) == [2] && results.map(\.state) == [.dead])
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
        notifications.rules.ways = [:]
        notifications.publish { _, _ in
            Issue.record("nothing is to be published")
            return 1
        }
        #expect(notifications.unpublished.isEmpty)
    }
}
