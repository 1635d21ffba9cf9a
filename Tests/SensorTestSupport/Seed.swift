import FoundationEssentials
package import LockstepSensors

/// A generator for a randomised test. Its seed is printed and can be set again with `LOCKSTEP_SEED`.
package func seeded(_ test: String) -> (random: SeededGenerator, seed: UInt64) {
    let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? .random(in: 0...999_999)
    print("\(test): LOCKSTEP_SEED=\(seed)")
    return (SeededGenerator(seed: seed), seed)
}
