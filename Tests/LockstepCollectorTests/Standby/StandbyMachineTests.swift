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
        machine.received(.offline, at: 0)
        #expect(machine.reason(at: .max) == nil)
        machine.subscribed(at: 0)
        machine.received(.offline, at: 1)
        machine.disconnected()
        #expect(machine.reason(at: .max) == nil)
    }

    @Test("a stop or a last will of the active collector counts at once")
    mutating func offline() {
        machine.subscribed(at: 0)
        machine.received(.offline, at: 1)
        #expect(machine.reason(at: 1) == .offline)
        machine.received(.online, at: 2)
        #expect(machine.reason(at: 2) == nil)
    }

    @Test("an active collector that reports keeps its place, also if its disk is full", arguments: [true, false])
    func online(isStalled: Bool) {
        var machine = StandbyMachine(healthInterval: Self.interval)
        machine.subscribed(at: 0)
        for number in 0..<100 as Range<Int64> {
            machine.received(isStalled ? .stalled : .online, at: number * Self.interval)
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
        #expect(!machine.hasPredecessor)
    }

    @Test("after a reconnect, reports count again from then on")
    mutating func reconnect() {
        machine.subscribed(at: 0)
        machine.received(.offline, at: 1)
        machine.disconnected()
        // The active collector is back, but the broker has lost its retained report.
        machine.subscribed(at: 100)
        #expect(machine.reason(at: 101) == nil)
        #expect(machine.hasPredecessor)
        machine.received(.online, at: 102)
        #expect(machine.reason(at: 102 + 3 * Self.interval - 1) == nil)
    }
}
