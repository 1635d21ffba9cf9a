import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Turn machine: properties")
struct TurnMachinePropertyTests {
    @Test("with random events, no message is acknowledged before it is committed, and every turn ends")
    func randomEvents() {
        var (random, seed) = seeded("turns of a collector")
        for _ in 0..<200 {
            var simulation = Simulation(random: random)
            for _ in 0..<100 { simulation.runTurn() }
            #expect(simulation.violations == [], "seed \(seed)")
            #expect(simulation.flushes > 10, "seed \(seed)")
            random = simulation.random
        }
    }
}

/// A simulation of a link and a store with random results, which checks the actions of the machine.
private struct Simulation {
    var random: SeededGenerator
    private var now = ContinuousClock.now
    private var machine: TurnMachine
    private(set) var violations: [String] = []
    private(set) var flushes = 0

    private var isConnected = false
    /// The number of messages that were read and are not on disk.
    private var uncommitted = 0
    /// The number of uncommitted messages in the current group.
    private var grouped = 0
    private var hasHeartbeat = false

    init(random: SeededGenerator) {
        self.random = random
        machine = TurnMachine(
            TurnLimits(messages: 500, samples: 900, partMessages: 50, partSamples: 200, burst: 20), at: now)
    }

    mutating func runTurn() {
        var action = machine.handle(
            .wokeUp(hasUnsentData: chance(5)), at: now)
        for _ in 0..<1000 {
            if chance(3) { now += .milliseconds(Int.random(in: 1...60, using: &random)) }
            guard let event = perform(action) else { return }
            action = machine.handle(event, at: now)
        }
        violations.append("a turn does not end")
    }

    private mutating func perform(_ action: TurnMachine.Action) -> TurnMachine.Event? {
        switch action {
        case .read: return .read(read())
        case .pause(let end):
            now = max(now, end)
            return .paused(isStoreIdle: .random(using: &random))
        case .handOver:
            defer { (grouped, hasHeartbeat) = (0, false) }
            return .handedOver(samples: grouped == 0 && !hasHeartbeat ? nil : grouped)
        case .subscribe:
            if !isConnected { violations.append("a subscription without a connection") }
            return .subscribed
        case .review: return .reviewed(grouped > 0 ? .urgent : hasHeartbeat ? .deferrable : .none)
        case .commit:
            if chance(5) { return .commitFailed }
            (uncommitted, grouped, hasHeartbeat) = (0, 0, false)
            return .committed(next: chance(2) ? nil : now + .milliseconds(300))
        case .settle: return .settled
        case .rollBack:
            (grouped, hasHeartbeat) = (0, false)
            return .rolledBack
        case .abandonConnection:
            if !isConnected { violations.append("no connection to abandon") }
            // The broker delivers all unacknowledged messages again.
            uncommitted = 0
            disconnect()
            return .abandoned
        case .publish(_, let acknowledgements):
            if acknowledgements, !isConnected { violations.append("acknowledgements without a connection") }
            return .published
        case .flush:
            if isConnected, uncommitted > 0 {
                violations.append("\(uncommitted) messages acknowledged before a commit")
            }
            flushes += 1
            return .flushed
        case .endTurn: return nil
        }
    }

    private mutating func read() -> TurnMachine.ReadResult {
        var result = TurnMachine.ReadResult(isStoreIdle: .random(using: &random))
        if isConnected {
            result.messages = chance(3) ? 0 : chance(2) ? 100 : .random(in: 0...100, using: &random)
            result.unacknowledged = result.messages
            if chance(4) { hasHeartbeat = true }
            uncommitted += result.messages
            grouped += result.messages
            if chance(20) { disconnect() }
        } else if chance(2) {
            isConnected = true
            uncommitted = grouped
            _ = machine.handle(.connected(devices: .random(in: 0...1000, using: &random)), at: now)
            if chance(4) { _ = machine.handle(.subscriptionRefused, at: now) }
            result.linkEvents = 1
        }
        result.pendingSamples = grouped
        return result
    }

    private mutating func disconnect() {
        isConnected = false
        _ = machine.handle(.disconnected(isTakenOver: false), at: now)
    }

    /// Returns true once in `count` calls on average.
    private mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
}
