import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("When a standby takes over")
struct StandbyMachineTests {
    private static let interval: Int64 = 10_000_000
    private var machine = StandbyMachine(healthInterval: interval)

    @Test("without a subscription it waits, whatever it knows")
    mutating func unconnected() {
        #expect(machine.reason(at: .max) == nil)
        machine.received(.offline, isWill: false, at: 0)
        #expect(machine.reason(at: .max) == nil)
        machine.subscribed(at: 0)
        machine.received(.offline, isWill: false, at: 1)
        machine.disconnected()
        #expect(machine.reason(at: .max) == nil)
    }

    @Test("a last will counts if it is the last report for 5 s: a collector that connects again also causes one")
    mutating func will() {
        machine.subscribed(at: 0)
        machine.received(.offline, isWill: true, at: 1)
        machine.received(.online, isWill: false, at: 1_000_000)
        #expect(machine.reason(at: 6_000_000) == nil)
        machine.received(.offline, isWill: true, at: 7_000_000)
        #expect(machine.reason(at: 11_999_999) == nil)
        #expect(machine.reason(at: 12_000_000) == .offline)
    }

    @Test("after this process was stopped, what it knows counts as just received")
    mutating func resumed() {
        machine.subscribed(at: 0)
        machine.received(.online, isWill: false, at: 1)
        machine.resumed(at: 100_000_000)
        #expect(machine.reason(at: 100_000_000 + 3 * Self.interval - 1) == nil)
        #expect(machine.reason(at: 100_000_000 + 3 * Self.interval) == .silent)
        machine.received(.offline, isWill: false, at: 200_000_000)
        machine.resumed(at: 300_000_000)
        #expect(machine.reason(at: 304_999_999) == nil)
        #expect(machine.reason(at: 305_000_000) == .offline)
        machine.disconnected()
        machine.resumed(at: 400_000_000)
        #expect(machine.reason(at: .max) == nil)
    }

    @Test("a stop of the active collector counts at once")
    mutating func offline() {
        machine.subscribed(at: 0)
        machine.received(.offline, isWill: false, at: 1)
        #expect(machine.reason(at: 1) == .offline)
        machine.received(.online, isWill: false, at: 2)
        #expect(machine.reason(at: 2) == nil)
    }

    @Test("an active collector that reports keeps its place, also if its disk is full", arguments: [true, false])
    func online(isStalled: Bool) {
        var machine = StandbyMachine(healthInterval: Self.interval)
        machine.subscribed(at: 0)
        for number in 0..<100 as Range<Int64> {
            machine.received(isStalled ? .stalled : .online, isWill: false, at: number * Self.interval)
            #expect(machine.reason(at: (number + 2) * Self.interval) == nil)
        }
        #expect(machine.reason(at: 102 * Self.interval - 1) == nil)
        #expect(machine.reason(at: 102 * Self.interval) == .silent)
    }

    @Test("if nobody has ever reported, it waits for longer than an interval")
    mutating func nobody() {
        machine.subscribed(at: 5)
        #expect(machine.reason(at: 5 + Self.interval) == nil)
        #expect(machine.reason(at: 5 + Self.interval * 3 / 2) == StandbyMachine.Reason.none)
    }

    @Test("after a reconnect, reports count again from then on")
    mutating func reconnect() {
        machine.subscribed(at: 0)
        machine.received(.offline, isWill: false, at: 1)
        machine.disconnected()
        // The active collector is back, but the broker has lost its retained report.
        machine.subscribed(at: 100)
        #expect(machine.reason(at: 101) == nil)
        machine.received(.online, isWill: false, at: 102)
        #expect(machine.reason(at: 102 + 3 * Self.interval - 1) == nil)
    }
}
