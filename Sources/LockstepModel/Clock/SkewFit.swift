/// Estimates the skew from the centres of the best probes, by weighted least squares.
///
/// A constant asymmetry of the delays moves all centres equally, so it does not disturb the slope. A weak prior for a
/// skew near 0 keeps the slope of a few close probes from being noise. The estimate has no bound of its own: the
/// polygon of ``ClockFilter`` limits it.
struct SkewFit: Sendable {
    /// The assumed standard deviation of the skew of two oscillators, in ppm.
    private static let prior = 50.0

    private struct Sample {
        let time: Int64
        let offset: Double
        let roundTrip: Int64
    }

    private var samples: [Sample] = []

    /// Adds the probe with the least round trip of a wave, and removes those before `start`.
    mutating func add(_ probe: ClockProbe, base: Int64, from start: Int64) {
        samples.removeAll { $0.time < start }
        samples.append(
            Sample(
                time: probe.sent + (probe.returned - probe.sent) / 2, offset: probe.offset - Double(base),
                roundTrip: probe.roundTrip))
    }

    /// The estimate in ppm.
    var skew: Double {
        guard samples.count > 1, let least = samples.map(\.roundTrip).min() else { return 0 }
        let weights = samples.map { sample in
            let deviation = Double(sample.roundTrip - least) / 2 + 20
            return 1 / (deviation * deviation)
        }
        let total = weights.reduce(0, +)
        let start = samples[0].time
        let times = samples.map { Double($0.time - start) / 1e6 }
        let meanTime = zip(weights, times).reduce(0) { $0 + $1.0 * $1.1 } / total
        let meanOffset = zip(weights, samples).reduce(0) { $0 + $1.0 * $1.1.offset } / total
        var (product, square) = (0.0, 1 / (Self.prior * Self.prior))
        for index in samples.indices {
            let time = times[index] - meanTime
            product += weights[index] * time * (samples[index].offset - meanOffset)
            square += weights[index] * time * time
        }
        return product / square
    }
}
