import Glibc

/// The SplitMix64 generator (Steele, Lea & Flood 2014): small, fast and identical on every machine.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// Creates an independent generator for draw `index` of `lane`, so that a value does not depend on earlier draws.
    package init(seed: UInt64, lane: UInt64, index: Int64 = 0) {
        var mixer = SeededGenerator(seed: seed ^ (lane &* 0xD1B5_4A32_D192_ED03))
        state = mixer.next() ^ UInt64(bitPattern: index)
        state = next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension RandomNumberGenerator {
    /// Returns two independent draws from the standard normal distribution (Box & Muller 1958).
    mutating func gaussianPair() -> (Double, Double) {
        // 1 - u is never 0, so the logarithm is finite.
        let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &self))).squareRoot()
        let angle = Double.random(in: 0..<(2 * .pi), using: &self)
        return (radius * cos(angle), radius * sin(angle))
    }

    /// Returns three independent draws from the standard normal distribution.
    mutating func gaussianVector() -> SIMD3<Double> {
        let first = gaussianPair()
        let second = gaussianPair()
        return SIMD3(first.0, first.1, second.0)
    }
}
