import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

/// Agents at 100 Hz while agents, collector and broker are killed at random moments.
///
/// `LOCKSTEP_CHAOS_SECONDS` sets how long each run goes on, `LOCKSTEP_CHAOS_SEED` repeats a run's choices.
@Suite("Chaos", .serialized, .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ChaosTests {
    private static let devices = ["ant", "bee", "cow"]

    @Test(
        "whatever is killed, every accepted sample is in the store once", .timeLimit(.minutes(600)),
        arguments: [true, false])
    func survives(brokerIsPersistent: Bool) async throws {
        let plan = ChaosPlan.fromEnvironment()
        print("chaos: seed \(plan.seed), \(plan.seconds) s, broker persistence \(brokerIsPersistent ? "on" : "off")")
        try await withSystem(isPersistent: brokerIsPersistent) { system in
            var random = plan.generator
            var collector = try system.startCollector()
            var agents = try Self.devices.map { try startAgent($0, in: system) }
            // A store and the first batches, so that every kill hits a system at work.
            try await expectEventually("no batch came") {
                try await system.reader().devices().count == Self.devices.count
            }
            var kills = 0
            let end = ContinuousClock.now + .seconds(plan.seconds)
            // A slow machine may take longer than the time, never fewer kills.
            while ContinuousClock.now < end || kills < plan.fewestKills {
                // No event is waited for: that kills come at any moment is what is tested.
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...1500, using: &random)))
                switch Int.random(in: 0..<5, using: &random) {
                case 0:
                    await collector.stop(SIGKILL)
                    try await pause(&random)
                    collector = try system.startCollector()
                case 1:
                    await system.broker.stop(SIGKILL)
                    try await pause(&random)
                    try await system.broker.start()
                default:
                    let index = Int.random(in: 0..<agents.count, using: &random)
                    await agents[index].stop(SIGKILL)
                    try await pause(&random)
                    agents[index] = try startAgent(Self.devices[index], in: system)
                }
                kills += 1
            }
            for agent in agents { await agent.stop(SIGTERM) }
            for device in Self.devices { try await system.drain(device) }
            await collector.stop(SIGTERM)

            let verification = try await system.verify(Self.devices)
            print("chaos: \(kills) kills; \(verification.text.split(separator: "\n").last ?? "")")
            #expect(verification.status == 0, "seed \(plan.seed): \(verification.text)")
            try await checkAccepted(in: system, seed: plan.seed)
        }
    }

    private func checkAccepted(in system: TestSystem, seed: UInt64) async throws {
        let reader = try await system.reader()
        let summaries = try reader.devices()
        #expect(summaries.count == Self.devices.count)
        for summary in summaries {
            // Three streams at 100 Hz: a run that accepted next to nothing proves nothing.
            #expect(summary.samples > 3000, "seed \(seed): \(summary.address) has \(summary.samples) samples")
            #expect(summary.gaps == 0, "seed \(seed): \(summary.address)")
            #expect(summary.conflicts == 0, "seed \(seed): \(summary.address)")
        }
    }

    private func startAgent(_ device: String, in system: TestSystem) throws -> RunningProgram {
        try system.startAgent(device, source: "simulate:\(device.utf8.first ?? 0)", ["--backlog-rate", "4M"])
    }

    private func pause(_ random: inout some RandomNumberGenerator) async throws {
        // Part of the time what was killed comes back at once, part of the time others have to do without it.
        try await Task.sleep(
            for: .milliseconds(Bool.random(using: &random) ? 0 : Int.random(in: 1...1500, using: &random)))
    }
}

/// How long, how often, and from which seed.
private struct ChaosPlan {
    let seconds: Int
    let seed: UInt64
    let fewestKills = 20

    var generator: Generator { Generator(state: seed) }

    static func fromEnvironment() -> ChaosPlan {
        let environment = ProcessInfo.processInfo.environment
        return ChaosPlan(
            seconds: environment["LOCKSTEP_CHAOS_SECONDS"].flatMap { Int($0) } ?? 30,
            seed: environment["LOCKSTEP_CHAOS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999))
    }

    /// SplitMix64 (Steele, Lea & Flood 2014).
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
