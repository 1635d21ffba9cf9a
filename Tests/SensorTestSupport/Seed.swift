import FoundationEssentials
package import LockstepSensors

/// Returns a generator for a randomised test, and its seed. The seed is printed, and the environment variable
/// `LOCKSTEP_SEED` sets it to repeat a failed test.
package func seeded(_ test: String) -> (random: SeededGenerator, seed: UInt64) {
    let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? .random(in: 0...999_999)
    print("\(test): LOCKSTEP_SEED=\(seed)")
    return (SeededGenerator(seed: seed), seed)
}
