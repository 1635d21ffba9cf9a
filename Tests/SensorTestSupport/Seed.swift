import FoundationEssentials
package import LockstepSensors

/// A generator for a randomized test, whose seed is printed and can be given again as `LOCKSTEP_SEED`.
package func seeded(_ test: String) -> (random: SeededGenerator, seed: UInt64) {
    let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? .random(in: 0...999_999)
    print("\(test): LOCKSTEP_SEED=\(seed)")
    return (SeededGenerator(seed: seed), seed)
}
