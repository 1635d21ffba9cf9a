import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Whether another collector writes to another store")
struct StoreCheckMachineTests {
    private static let own = CollectorHealth.Store(id: "1", name: "/samples.db", host: "pi")
    private static let other = CollectorHealth.Store(id: "2", name: "/samples2.db", host: "pi")
    private static let topic = "lockstep/default/$collector/main"
    private var machine = StoreCheckMachine(store: own, healthInterval: 10_000_000)

    private static func health(
        _ status: CollectorHealth.Status = .online, _ store: CollectorHealth.Store?, isWill: Bool = false
    ) -> CollectorHealth {
        CollectorHealth(
            status: status, at: Timestamp(microseconds: 0), started: isWill ? nil : Timestamp(microseconds: 1),
            store: store)
    }

    private mutating func receive(
        _ health: CollectorHealth, on topic: String = topic, isRetained: Bool = true, at now: Int64 = 0
    ) {
        machine.received(health, on: topic, isRetained: isRetained, at: now)
    }

    @Test("it waits for a subscription, and connects soon if there is no report")
    mutating func none() {
        #expect(machine.decision(at: .max / 2) == .wait)
        machine.subscribed(at: 1_000_000)
        #expect(machine.decision(at: 1_199_999) == .wait)
        #expect(machine.decision(at: 1_200_000) == .connect)
    }

    @Test("a retained report of another store is no proof: only a report that is sent now is")
    mutating func retained() {
        receive(Self.health(.online, Self.other))
        machine.subscribed(at: 0)
        #expect(machine.candidate == Self.other)
        #expect(machine.decision(at: 29_999_999) == .wait)
        // The broker has kept the report of a collector that is gone.
        #expect(machine.decision(at: 30_000_000) == .connect)
        receive(Self.health(.stalled, Self.other), isRetained: false)
        #expect(machine.decision(at: 30_000_000) == .stayAway(Self.other))
    }

    @Test(
        "another store at the same place, which a stopped collector has reported, is known", arguments: [true, false])
    mutating func earlier(isSamePlace: Bool) {
        var store = isSamePlace ? Self.own : Self.other
        store.id = "3"
        receive(Self.health(.offline, store))
        #expect(machine.hasReplacedStore(isNew: true) == isSamePlace)
        #expect(!machine.hasReplacedStore(isNew: false), "a copy or a backup of another store")
        receive(Self.health(.offline, nil, isWill: true))
        machine.subscribed(at: 0)
        #expect(machine.decision(at: 0) == .connect)
    }

    @Test("a collector that stops meanwhile does not prevent the connection")
    mutating func stopped() {
        receive(Self.health(.online, Self.other))
        machine.subscribed(at: 0)
        receive(Self.health(.offline, Self.other), isRetained: false, at: 1)
        #expect(machine.decision(at: 1) == .connect)
    }

    @Test("after a last will, a collector has 5 s to report that it is back")
    mutating func returned() {
        receive(Self.health(.online, Self.other))
        machine.subscribed(at: 0)
        receive(Self.health(.offline, nil, isWill: true), isRetained: false, at: 1_000_000)
        #expect(machine.decision(at: 5_999_999) == .wait)
        var gone = machine
        #expect(gone.decision(at: 6_000_000) == .connect)
        receive(Self.health(.online, Self.other), isRetained: false, at: 2_000_000)
        #expect(machine.decision(at: 2_000_000) == .stayAway(Self.other))
        gone.received(Self.health(.online, Self.own), on: Self.topic, isRetained: false, at: 6_000_000)
        #expect(gone.decision(at: 6_000_000) == .connect)
    }

    @Test(
        "it connects at once after a crash of its own, after a stop, and beside a collector that names no store",
        arguments: [
            health(.online, own), health(.stalled, own), health(.offline, other), health(.offline, nil, isWill: true),
            health(.online, nil), health(.stalled, nil, isWill: true),
        ])
    func atOnce(_ report: CollectorHealth) {
        for isRetained in [true, false] {
            var machine = machine
            machine.received(report, on: Self.topic, isRetained: isRetained, at: 0)
            #expect(machine.decision(at: 0) == .wait)
            machine.subscribed(at: 0)
            #expect(machine.decision(at: 0) == .connect)
        }
    }

    @Test("a collector that has lost its connection waits for the first report of the one that may have taken it over")
    func takenOver() {
        var machine = StoreCheckMachine(store: Self.own, healthInterval: 10_000_000, isReconnecting: true)
        machine.received(Self.health(.offline, nil, isWill: true), on: Self.topic, isRetained: true, at: 0)
        machine.subscribed(at: 0)
        #expect(machine.decision(at: 2_999_999) == .wait)
        #expect(machine.decision(at: 3_000_000) == .connect)
        machine.received(Self.health(.online, Self.other), on: Self.topic, isRetained: false, at: 2_000_000)
        #expect(machine.decision(at: 2_000_000) == .stayAway(Self.other))
    }

    @Test(
        "the own last report is no proof either, unless the broker was unreachable; a last will does not delay",
        arguments: [
            (health(.online, own), false, 2_000_000), (health(.stalled, own), false, 2_000_000),
            (health(.online, nil), false, 2_000_000), (health(.online, own), true, 0),
            (health(.stalled, own, isWill: true), false, 0), (health(.offline, other), false, 0),
            (health(.offline, nil, isWill: true), true, 3_000_000),
        ])
    func ownReport(_ report: CollectorHealth, wasUnreachable: Bool, delay: Int64) {
        var machine = StoreCheckMachine(
            store: Self.own, healthInterval: 10_000_000, isReconnecting: true)
        if wasUnreachable { machine.unreachable() }
        machine.received(report, on: Self.topic, isRetained: true, at: 0)
        machine.subscribed(at: 0)
        #expect(machine.decision(at: max(0, delay - 1)) == (delay == 0 ? .connect : .wait))
        #expect(machine.decision(at: delay) == .connect)
        machine.received(Self.health(.online, Self.other), on: Self.topic, isRetained: false, at: delay)
        #expect(machine.decision(at: delay) == .stayAway(Self.other))
    }

    @Test("what was received before a connection was lost does not count on the next one")
    func lostConnection() {
        var machine = StoreCheckMachine(
            store: Self.own, healthInterval: 10_000_000, isReconnecting: true, wasUnreachable: true)
        machine.received(Self.health(.online, Self.other), on: Self.topic, isRetained: true, at: 0)
        machine.subscribed(at: 0)
        machine.disconnected()
        #expect(machine.candidate == nil && machine.isReconnecting && machine.wasUnreachable)
        #expect(machine.decision(at: 60_000_000) == .wait)
        machine.subscribed(at: 60_000_000)
        #expect(machine.decision(at: 60_199_999) == .wait)
        #expect(machine.decision(at: 60_200_000) == .connect)
    }

    @Test("a report for other groups counts, too, and an old report of this collector does not hide it")
    mutating func groups() {
        receive(Self.health(.offline, Self.own))
        receive(Self.health(.online, Self.other), on: "lockstep/lab/$collector/main")
        machine.subscribed(at: 0)
        receive(Self.health(.offline, Self.own))
        #expect(machine.decision(at: 0) == .wait)
        receive(Self.health(.online, Self.other), on: "lockstep/lab/$collector/main", isRetained: false)
        #expect(machine.decision(at: 0) == .stayAway(Self.other))
    }

    @Test("the reason names both stores and what to do, without control characters of the network")
    func reason() {
        let other = CollectorHealth.Store(id: "2", name: "/a\u{1B}[31m\u{9B}b", host: "pi\n4")
        let error = OtherStoreError(id: CollectorID(unchecked: "main"), other: other, own: Self.own)
        #expect(error.description.contains("running on pi4 and stores into /a[31mb, another store than /samples.db:"))
        #expect(error.description.contains("--id") && error.description.contains("--take-over"))
        let new = OtherStoreError(id: CollectorID(unchecked: "main"), other: Self.own, own: Self.own)
        #expect(new.description.contains("another store than the new /samples.db"))
    }
}
