import LockstepCollector
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Life-cycle properties")
struct LifecyclePropertyTests {
    /// A transition without its time, reason and number.
    private struct Step: Hashable {
        let from: LifecycleState?
        let to: LifecycleState
    }

    /// The transitions of the table in docs/guarantees.md.
    private static let table: Set<Step> = [
        Step(from: nil, to: .active), Step(from: .active, to: .inactive), Step(from: .inactive, to: .active),
        Step(from: .active, to: .background), Step(from: .inactive, to: .background),
        Step(from: .background, to: .resumed), Step(from: .terminated, to: .resumed), Step(from: .resumed, to: .active),
        Step(from: nil, to: .terminated), Step(from: .active, to: .terminated), Step(from: .inactive, to: .terminated),
        Step(from: .background, to: .terminated), Step(from: .resumed, to: .terminated),
        Step(from: .resumed, to: .background),
    ]

    /// Transitions that the table does not list: a device is first seen as inactive or in background, is interrupted
    /// while it resumes, or returns as inactive or in background.
    private static let unlisted: Set<Step> = [
        Step(from: nil, to: .inactive), Step(from: nil, to: .background), Step(from: .resumed, to: .inactive),
        Step(from: .background, to: .inactive),
        Step(from: .terminated, to: .inactive), Step(from: .terminated, to: .background),
    ]

    @Test("random events lead only to known transitions, numbered and ordered in time, and a replay repeats them")
    func transitions() {
        var (random, seed) = seeded("life cycle")
        for _ in 0..<300 {
            let events = Self.events(using: &random)
            let transitions = Self.run(events)
            var last: LifecycleTransition?
            for transition in transitions {
                let step = Step(from: transition.from, to: transition.to)
                #expect(Self.table.contains(step) || Self.unlisted.contains(step), "seed \(seed): \(step)")
                #expect(transition.from == last?.to, "seed \(seed)")
                #expect(transition.seq == (last?.seq ?? 0) + 1, "seed \(seed)")
                #expect(transition.since >= last?.since ?? transition.since, "seed \(seed)")
                last = transition
            }
            #expect(Self.run(events) == transitions, "seed \(seed)")
        }
    }

    @Test("a restart of the collector does not change transitions, except those caused by timeouts")
    func restarts() {
        var (random, seed) = seeded("life cycle over restarts")
        for _ in 0..<100 {
            let events = Self.events(using: &random).filter { $0.1 != .tick }
            let split = Int.random(in: 0...events.count, using: &random)
            var machine = LifecycleMachine(at: moment(0))
            var transitions = events[..<split].compactMap { machine.handle($0.1, at: moment($0.0)) }
            var restored = LifecycleMachine(machine.snapshot, at: moment(9999))
            transitions += events[split...].compactMap { restored.handle($0.1, at: moment($0.0)) }
            #expect(transitions == Self.run(events), "seed \(seed)")
        }
    }

    @Test("a silent device ends in background or stays terminated")
    func silence() {
        var (random, seed) = seeded("silence after random events")
        for _ in 0..<300 {
            let events = Self.events(using: &random)
            var machine = LifecycleMachine(at: moment(0))
            for (seconds, event) in events { _ = machine.handle(event, at: moment(seconds)) }
            guard machine.state != nil else { continue }
            var now = events.last?.0 ?? 0
            for _ in 0..<100 {
                now += 1
                _ = machine.handle(.tick, at: moment(now))
            }
            #expect([.background, .terminated].contains(machine.state), "seed \(seed)")
        }
    }

    private static func run(_ events: [(Double, LifecycleMachine.Event)]) -> [LifecycleTransition] {
        var machine = LifecycleMachine(at: moment(0))
        return events.compactMap { machine.handle($0.1, at: moment($0.0)) }
    }

    private static func events(using random: inout SeededGenerator) -> [(Double, LifecycleMachine.Event)] {
        var now = 0.0
        return (0..<80).map { _ in
            now += Double.random(in: 0...(Int.random(in: 0..<10, using: &random) == 0 ? 200 : 5), using: &random)
            let sentAt = now - Double.random(in: -3...6, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3: return (now, live(sentAt))
            case 3..<5: return (now, .tick)
            default:
                let session: Int64? =
                    Int.random(in: 0..<8, using: &random) == 0
                    ? nil : Int64(now / 60) + .random(in: -1...1, using: &random)
                let phase = Phase.allCases.randomElement(using: &random) ?? .lost
                return (now, presence(phase, Bool.random(using: &random) ? sentAt : nil, session: session))
            }
        }
    }
}
