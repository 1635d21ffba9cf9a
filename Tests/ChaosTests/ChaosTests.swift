import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

/// Lets random things happen to agents, collector and broker while agents send at 100 Hz: see ``ChaosEvent``.
///
/// `LOCKSTEP_CHAOS_SECONDS` sets the duration of a run, `LOCKSTEP_CHAOS_EVENTS` the kinds of events, such as `kill,clock`, and
/// `LOCKSTEP_CHAOS_SEED` repeats the random choices of a run.
@Suite(
    "Chaos", .serialized,
    .enabled("mosquitto or clang is not installed") {
        guard Programs.isInstalled("mosquitto") else { return false }
        return await AdjustableClock.isAvailable
    })
struct ChaosTests {
    @Test(
        "every accepted sample is stored once, whatever happens", .timeLimit(.minutes(600)), arguments: [true, false])
    func survives(brokerIsPersistent: Bool) async throws {
        var plan = try ChaosPlan(
            environment: ProcessInfo.processInfo.environment, agents: ChaosSystem.devices.count)
        print(
            "chaos: seed \(plan.seed), \(plan.seconds) s, broker persistence \(brokerIsPersistent ? "on" : "off"), events "
                + plan.kinds.map(\.rawValue).joined(separator: ","))
        // With each change, the broker would write all messages that wait: minutes for those of a long run.
        try await withSystem(isPersistent: brokerIsPersistent, brokerSettings: ["autosave_interval 50"]) { system in
            let chaos = try await ChaosSystem(system)
            do { try await run(&plan, chaos) } catch {
                // An error names no event.
                Issue.record("seed \(plan.seed): \(error)\n\(chaos.lastEvents)")
            }
            chaos.end()
        }
    }

    private func run(_ plan: inout ChaosPlan, _ chaos: ChaosSystem) async throws {
        try chaos.startAll()
        // Wait for the first batches, so that every event hits a system in operation.
        try await expectEventually("no batch was stored") {
            try await chaos.system.reader().devices().count == ChaosSystem.devices.count
        }
        var counts: [ChaosEvent.Kind: Int] = [:]
        let end = ContinuousClock.now + .seconds(plan.seconds)
        // On a slow machine, run longer rather than with fewer events.
        while ContinuousClock.now < end || counts.values.reduce(0, +) < plan.minEvents {
            let (delay, event) = plan.next()
            // Not waiting for an event: the next one can come at any moment.
            try await Task.sleep(for: .milliseconds(delay))
            try await chaos.apply(event)
            counts[event.kind, default: 0] += 1
        }
        try await chaos.settle()

        let verdict = try await ChaosVerdict(of: chaos)
        let happened = plan.kinds.compactMap { kind in counts[kind].map { "\(kind) \($0)" } }.joined(separator: ", ")
        print("chaos: \(happened); \(verdict.summary)")
        #expect(verdict.faults == [], "seed \(plan.seed), the last events:\n\(chaos.lastEvents)")
        try await checkReport(verdict, chaos, seed: plan.seed)
    }

    /// Checks that `lockstep verify` reports exactly what is missing.
    private func checkReport(_ verdict: ChaosVerdict, _ chaos: ChaosSystem, seed: UInt64) async throws {
        let verification = try await chaos.system.verify(ChaosSystem.devices)
        let isComplete = verdict.missing == 0 && chaos.replacedStores.isEmpty
        if isComplete { #expect(verification.status == 0, "seed \(seed): \(verification.text)") }
        if verdict.missing > 0 {
            #expect(
                verification.status == 1 && verification.text.contains("\(verdict.missing) accepted sample"),
                "seed \(seed): \(verification.text)")
        }
    }
}
