import Foundation
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Subscriptions to devices")
struct DeviceSubscriptionTests {
    private let picture = LivePicture(root: .standard)

    /// Returns the names of the devices in an event.
    private func names(_ event: Event) throws -> [String] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: Any])
        let devices = try #require(object["devices"] as? [[String: Any]])
        return devices.compactMap { $0["device"] as? String }
    }

    private func waiting(_ subscription: LiveSubscription) throws -> [[String]] {
        try subscription.waiting().filter { $0.name == "devices" }.map(names)
    }

    @Test("a subscriber receives all devices, and once a second those that have changed")
    func changes() throws {
        for name in ["a", "b", "c"] { picture.handle(.state(transition(.active), of: device(name)), at: 0) }
        let subscription = try picture.subscribeToDevices(at: moment(0))
        #expect(try waiting(subscription) == [["a", "b", "c"]])
        picture.handle(.state(transition(.background, seq: 2), of: device("b")), at: 0.5)
        picture.handle(.state(transition(.active, seq: 3), of: device("b")), at: 0.6)
        picture.advance(from: 0.6, to: 0.9)
        #expect(try waiting(subscription).isEmpty)
        picture.advance(from: 0.9, to: 1.1)
        #expect(try waiting(subscription) == [["b"]])
        picture.advance(from: 1.1, to: 5)
        #expect(try waiting(subscription).isEmpty, "nothing has changed")
        picture.handle(.presence(.lost, of: device("new")), at: 5.1)
        picture.advance(from: 5.1, to: 6.2)
        #expect(try waiting(subscription) == [["new"]])
    }

    @Test("a device is sent until its rate is 0")
    func fadingRates() throws {
        picture.handle(.samples(samples(100, from: 0), of: device("a")), at: 0)
        let subscription = try picture.subscribeToDevices(at: moment(0))
        _ = subscription.waiting()
        var last: Event?
        for second in 1...30 {
            picture.advance(from: Double(second - 1), to: Double(second))
            last = subscription.waiting().last { $0.name == "devices" } ?? last
        }
        #expect(last?.data.contains(#""rates":{}"#) == true)
        let at = try #require(last?.data.split(separator: ",").first.map { String($0.dropFirst(6)) })
        #expect((11.0...12.5).contains((Double(at) ?? 0) / 1e6 - 1_700_000_000))
    }

    @Test("a group and a longer interval")
    func groupAndInterval() throws {
        picture.advance(from: 0, to: 0)
        let lab = try picture.subscribeToDevices(group: GroupID(unchecked: "lab"), at: moment(0))
        let slow = try picture.subscribeToDevices(every: 3_000_000, at: moment(0))
        #expect(lab.waiting().map(\.data) == [#"{"at":1700000000000000,"devices":[]}"#])
        _ = slow.waiting()
        for second in 0..<7 {
            let seq = Int64(second)
            picture.handle(.state(transition(.active, seq: seq), of: device("a")), at: Double(second) + 0.1)
            picture.handle(.state(transition(.active, seq: seq), of: device("b", group: "x")), at: Double(second) + 0.1)
            picture.advance(from: Double(second) + 0.1, to: Double(second) + 1.05)
            #expect(try waiting(lab) == [["a"]])
            #expect(try waiting(slow) == (second % 3 == 2 ? [["a", "b"]] : []), "after \(second + 1) s")
        }
    }

    @Test("for a slow subscriber, one event waits at most, and the next one contains all changes since")
    func slow() throws {
        let subscription = try picture.subscribeToDevices(at: moment(0))
        for second in 0..<8 {
            picture.handle(.state(transition(.active), of: device("d\(second)")), at: Double(second) + 0.1)
            picture.advance(from: Double(second) + 0.1, to: Double(second) + 1)
        }
        #expect(try waiting(subscription) == [[]])
        picture.advance(from: 8, to: 9.1)
        #expect(try waiting(subscription) == [(0..<8).map { "d\($0)" }])
    }

    @Test("nothing is encoded for a subscriber that is refused")
    func refused() throws {
        let picture = LivePicture(root: .standard, limits: LiveLimits(subscribers: 2))
        picture.handle(.state(transition(.active), of: device("a")), at: 0)
        let other = try picture.subscribeToDevices(group: GroupID(unchecked: "x"), at: moment(0))
        let last = try picture.subscribeToStates()
        #expect(throws: SubscriptionError.tooManySubscribers(limit: 2)) {
            try picture.subscribeToDevices(at: moment(0))
        }
        last.cancel()
        picture.handle(.state(transition(.active), of: device("b")), at: 0.1)
        // An event that was encoded for the refused subscriber would be used again.
        let subscription = try picture.subscribeToDevices(at: moment(0.2))
        #expect(try waiting(subscription) == [["a", "b"]])
        #expect(try waiting(other) == [[]])
    }

    @Test("10,000 devices are encoded once for all subscribers")
    func manyDevices() throws {
        for index in 0..<10_000 { picture.handle(.state(transition(.active), of: device("d\(index)")), at: 0) }
        let subscriptions = try (0..<50).map { _ in try picture.subscribeToDevices(at: moment(0)) }
        let addresses = try subscriptions.map { subscription in
            let events = try #require(subscription.subscriber.takeWaiting())
            return events[0].withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(Set(addresses).count == 1)
        #expect(picture.devicesJSON(at: moment(0)).count > 2_000_000)
    }
}
