import Foundation
import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

/// Kills agents, collector and broker at random moments while agents send at 100 Hz.
///
/// `LOCKSTEP_CHAOS_SECONDS` sets the duration of a run, `LOCKSTEP_CHAOS_SEED` repeats the random choices of a run.
@Suite("Chaos", .serialized, .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ChaosTests {
    private static let devices = ["ant", "bee", "cow"]

    @Test(
        "every accepted sample is stored once, whatever is killed", .timeLimit(.minutes(600)),
        arguments: [true, false])
    func survives(brokerIsPersistent: Bool) async throws {
        let plan = ChaosPlan.fromEnvironment()
        print("chaos: seed \(plan.seed), \(plan.seconds) s, broker persistence \(brokerIsPersistent ? "on" : "off")")
        try await withSystem(isPersistent: brokerIsPersistent) { system in
            var random = plan.generator
            var collector = try system.startCollector()
            var agents = try Self.devices.map { try startAgent($0, in: system) }
            // Wait for the first batches, so that every kill hits a system in operation.
            try await expectEventually("no batch was stored") {
                try await system.reader().devices().count == Self.devices.count
            }
            var kills = 0
            let end = ContinuousClock.now + .seconds(plan.seconds)
            // On a slow machine, run longer rather than with fewer kills.
            while ContinuousClock.now < end || kills < plan.minKills {
                // Not waiting for an event: a kill can come at any moment.
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
            // Three streams at 100 Hz: a run with few samples proves nothing.
            #expect(summary.samples > 3000, "seed \(seed): \(summary.address) has \(summary.samples) samples")
            #expect(summary.missing + summary.onItsWay == 0, "seed \(seed): \(summary.address)")
            #expect(summary.conflicts == 0, "seed \(seed): \(summary.address)")
        }
    }

    private func startAgent(_ device: String, in system: TestSystem) throws -> RunningProgram {
        try system.startAgent(device, source: "simulate:\(device.utf8.first ?? 0)", ["--backlog-rate", "4M"])
    }

    private func pause(_ random: inout some RandomNumberGenerator) async throws {
        // Half of the time the program restarts at once; otherwise the others run without it for a while.
        try await Task.sleep(
            for: .milliseconds(Bool.random(using: &random) ? 0 : Int.random(in: 1...1500, using: &random)))
    }
}

/// The duration, the minimum number of kills and the seed of a run.
private struct ChaosPlan {
    let seconds: Int
    let seed: UInt64
    let minKills = 20

    var generator: SeededGenerator { SeededGenerator(seed: seed) }

    static func fromEnvironment() -> ChaosPlan {
        let environment = ProcessInfo.processInfo.environment
        return ChaosPlan(
            seconds: environment["LOCKSTEP_CHAOS_SECONDS"].flatMap { Int($0) } ?? 30,
            seed: environment["LOCKSTEP_CHAOS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999))
    }
}
