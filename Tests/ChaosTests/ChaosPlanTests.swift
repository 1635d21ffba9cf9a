import LockstepTestSupport
import Testing

@Suite("Chaos plans")
struct ChaosPlanTests {
    private func events(_ count: Int, seed: UInt64, _ kinds: [ChaosEvent.Kind] = ChaosEvent.Kind.allCases)
        -> [ChaosEvent]
    {
        var plan = ChaosPlan(seed: seed, kinds: kinds, agents: 3)
        return (0..<count).map { _ in plan.next().event }
    }

    @Test("a seed repeats the events of a run, and another one has other events")
    func seeds() {
        #expect(events(100, seed: 7) == events(100, seed: 7))
        #expect(events(100, seed: 7) != events(100, seed: 8))
    }

    @Test("each kind of event comes in the shortest run, and others only if they are switched on")
    func kinds() {
        for seed: UInt64 in 1...20 {
            let plan = ChaosPlan(seed: seed, agents: 3)
            #expect(Set(events(plan.minEvents, seed: seed).map(\.kind)) == Set(ChaosEvent.Kind.allCases))
            #expect(Set(events(30, seed: seed, [.kill, .link]).map(\.kind)) == [.kill, .link])
        }
    }

    @Test("clocks step by seconds and by decades, in both directions")
    func clocks() {
        let offsets = events(500, seed: 1, [.clock]).compactMap { event in
            if case .clock(_, let offset) = event { offset } else { nil }
        }
        let year: Int64 = 31_556_952
        #expect(offsets.contains { $0 > 20 * year } && offsets.contains { $0 < -20 * year })
        #expect(offsets.contains { (1...60).contains($0) } && offsets.contains { (-60 ... -1).contains($0) })
        #expect(offsets.allSatisfy { abs($0) <= 56 * year })
    }

    @Test("the environment sets kinds, duration and seed, and a misspelled kind is an error")
    func environment() throws {
        let plan = try ChaosPlan(
            environment: [
                "LOCKSTEP_CHAOS_EVENTS": "kill,clock", "LOCKSTEP_CHAOS_SECONDS": "600", "LOCKSTEP_CHAOS_SEED": "42",
            ], agents: 3)
        #expect(plan.kinds == [.kill, .clock] && plan.seconds == 600 && plan.seed == 42)
        #expect(try ChaosPlan(environment: [:], agents: 3).kinds == ChaosEvent.Kind.allCases)
        #expect(throws: ProgramError.self) {
            try ChaosPlan(environment: ["LOCKSTEP_CHAOS_EVENTS": "kills"], agents: 3)
        }
    }
}
