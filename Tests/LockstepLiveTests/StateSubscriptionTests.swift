import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Subscriptions to states")
struct StateSubscriptionTests {
    private let picture = LivePicture(
        root: .standard, limits: LiveLimits(stateChanges: 100), instance: "run-7")
    private let left = device("left")
    private let right = device("right")

    private func change(_ state: LifecycleState, of address: DeviceAddress, seq: Int64) {
        picture.handle(.state(transition(state, from: .resumed, at: Double(seq), seq: seq), of: address), at: 0)
    }

    @Test("a new subscriber receives present states, then 'ready', then changes")
    func snapshot() throws {
        change(.active, of: left, seq: 1)
        change(.background, of: left, seq: 2)
        picture.handle(.presence(.foreground, of: right), at: 0)
        let subscription = try picture.subscribeToStates()
        let first = subscription.waiting()
        #expect(first.map(\.name) == ["state", "ready"])
        #expect(
            first[0].data
                == #"{"group":"lab","device":"left","state":"background","previous":"resumed","reason":"test","#
                + #""since":1700000002000000,"seq":2,"snapshot":true}"#)
        #expect(first[0].id == nil, "a client with a part of the snapshot must not resume")
        #expect(first[1].id == "run-7-2")
        change(.active, of: right, seq: 1)
        change(.active, of: right, seq: 1)
        let next = subscription.waiting()
        #expect(next.map(\.id) == ["run-7-3"], "the same state again is no change")
        #expect(next[0].data.contains(#""device":"right""#) && next[0].data.hasSuffix(#""snapshot":false}"#))
    }

    @Test("a subscriber that returns receives only the changes since its last event")
    func resumption() throws {
        for seq in 1...20 { change(.active, of: left, seq: Int64(seq)) }
        let missed = try picture.subscribeToStates(after: "run-7-17").waiting()
        #expect(missed.map(\.id) == ["run-7-18", "run-7-19", "run-7-20", "run-7-20"])
        #expect(missed.map(\.name) == ["state", "state", "state", "ready"])
        #expect(try picture.subscribeToStates(after: "run-7-20").waiting().map(\.name) == ["ready"])
    }

    @Test(
        "an id of another run, of the future, or of a forgotten change leads to a snapshot",
        arguments: ["run-6-120", "run-7-121", "run-7-19", "run-7-", "run-7--1", "run-7", "", "120", "run-7-1e2"])
    func invalidID(id: String) throws {
        for seq in 1...120 { change(.active, of: left, seq: Int64(seq)) }
        let first = try picture.subscribeToStates(after: id).waiting()
        #expect(first.map(\.name) == ["state", "ready"])
        #expect(first[0].data.hasSuffix(#""snapshot":true}"#))
        // The last 100 changes are known.
        #expect(try picture.subscribeToStates(after: "run-7-20").waiting().count == 101)
    }

    @Test("a subscriber that does not keep up is ended instead of missing a change, and can return")
    func slow() throws {
        let picture = LivePicture(root: .standard, limits: LiveLimits(queueBytes: 1000), instance: "run-7")
        let subscription = try picture.subscribeToStates()
        #expect(subscription.waiting().last?.id == "run-7-0")
        for seq in 1...20 {
            picture.handle(.state(transition(.active, at: 0, seq: Int64(seq)), of: left), at: Double(seq))
        }
        let events = subscription.waiting()
        #expect(events.map(\.name) == ["end"])
        #expect(events[0].data.contains("too slow"))
        #expect(picture.statistics.subscribers == 0)
        #expect(try picture.subscribeToStates(after: "run-7-0").waiting().count == 21)
    }

    @Test("10,000 devices are one snapshot, and later changes of all of them fit into the queue")
    func manyDevices() throws {
        let picture = LivePicture(root: .standard, limits: LiveLimits(queueBytes: 4_000_000))
        for index in 0..<10_000 {
            picture.handle(.state(transition(.active), of: device("d\(index)")), at: 0)
        }
        let subscription = try picture.subscribeToStates()
        #expect(subscription.waiting().count == 10_001)
        for index in 0..<10_000 {
            picture.handle(.state(transition(.background, seq: 2), of: device("d\(index)")), at: 1)
        }
        #expect(subscription.waiting().count == 10_000)
    }

    @Test("a state that a store adds is a change")
    func seed() throws {
        let subscription = try picture.subscribeToStates()
        _ = subscription.waiting()
        picture.seed([DeviceSeed(address: left, transition: transition(.terminated))])
        #expect(subscription.waiting().map(\.id) == ["run-7-1"])
    }
}
