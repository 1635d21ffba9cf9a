/// Estimates offset and skew of two clocks from probes, with bounds that hold for any asymmetry of the delays.
///
/// Each message proves one inequality: it was not received before it was sent. The filter keeps the set of all lines
/// (offset, skew) that no message of the window contradicts. It is a convex polygon, found by clipping with a half plane
/// for each message; the estimate is its centre and the bound half its extent. This is the method of Duda, Harrus,
/// Haddad and Bernard ("Estimating global time in distributed systems", ICDCS 1987), in the form of the linear
/// programming of Moon, Skelly and Towsley ("Estimation and removal of clock skew from network delay measurements",
/// INFOCOM 1999) and of the convex hulls of Zhang, Liu and Xia ("Clock synchronization algorithms for network
/// measurements", INFOCOM 2002). Older inequalities are widened by ``/LockstepModel/ClockWander``, because the skew
/// changes with the temperature.
///
/// The bounds are true if each oscillator is within 150 ppm of its nominal frequency and changes as slowly as assumed. If
/// no line is left, one of these was violated, and the filter starts again with the newest probes.
public struct ClockFilter: Sendable {
    /// The largest difference of the frequencies of two clocks, in ppm.
    public static let maxSkew = 300.0
    /// The age in µs at which inequalities are discarded.
    static let window: Int64 = 300_000_000
    /// The maximum number of inequalities.
    static let capacity = 160

    /// An estimate of the offset at one time.
    public struct Estimate: Hashable, Sendable {
        /// The device's clock minus the collector's, in µs.
        public var offset: Double
        /// The largest possible error of `offset`, in µs.
        public var bound: Double
        /// The change of the offset, in µs per second (ppm).
        public var skew: Double
        /// The largest possible error of `skew`, in ppm.
        public var skewBound: Double
    }

    /// One inequality: at `time`, the offset is at least or at most `value`.
    private struct Constraint {
        let time: Int64
        let value: Double
        let isUpper: Bool
    }

    /// A point of the polygon: the offset at `reference`, in µs, and the skew in ppm.
    private struct Vertex {
        var offset: Double
        var skew: Double
    }

    private var constraints: [Constraint] = []
    /// The offset from which values are counted, so that they are small enough to be exact.
    private var base: Int64 = 0
    /// The time to which the offsets of the polygon refer.
    private var reference: Int64 = 0
    private var polygon: [Vertex] = []
    private var fit = SkewFit()

    /// Creates a filter without probes.
    public init() {}

    /// Whether the filter has an estimate.
    public var isEmpty: Bool { polygon.isEmpty }

    /// Adds the probes of one wave.
    /// - Returns: false if they contradict earlier probes. The filter then starts again with these probes.
    @discardableResult
    public mutating func add(_ wave: [ClockProbe]) -> Bool {
        let wave = wave.filter(\.isPlausible)
        guard let newest = wave.map(\.returned).max() else { return true }
        if constraints.isEmpty { (base, fit) = (wave[0].lower, SkewFit()) }
        let added = Self.select(wave).map { probe, isUpper in
            isUpper
                ? Constraint(time: probe.returned, value: Double(probe.upper - base), isUpper: true)
                : Constraint(time: probe.sent, value: Double(probe.lower - base), isUpper: false)
        }
        constraints.removeAll { newest - $0.time > Self.window || $0.time > newest }
        constraints += added
        if constraints.count > Self.capacity { constraints.removeFirst(constraints.count - Self.capacity) }
        reference = newest
        polygon = Self.feasible(constraints, at: newest)
        guard polygon.isEmpty else {
            addToFit(wave)
            return true
        }
        fit = SkewFit()
        addToFit(wave)
        constraints = added
        polygon = Self.feasible(added, at: newest)
        if polygon.isEmpty { constraints = [] }
        return false
    }

    /// Returns the estimate at a time of the device's clock, or nil without probes.
    public func estimate(at time: Int64) -> Estimate? {
        guard !polygon.isEmpty else { return nil }
        let age = Double(time - reference) / 1e6
        let offsets = polygon.map { $0.offset + $0.skew * age }
        let skews = polygon.map(\.skew)
        let references = polygon.map(\.offset)
        guard let low = offsets.min(), let high = offsets.max(), let slowest = skews.min(), let fastest = skews.max(),
            let first = references.min(), let last = references.max()
        else { return nil }
        let skew = min(max(fit.skew, slowest), fastest)
        // The centre at the newest probe, moved by the most probable skew.
        let offset = min(max((first + last) / 2 + skew * age, low), high)
        return Estimate(
            offset: Double(base) + offset, bound: max(high - offset, offset - low) + ClockWander.error(after: abs(age)),
            skew: skew, skewBound: max(fastest - skew, skew - slowest))
    }

    private mutating func addToFit(_ wave: [ClockProbe]) {
        guard let best = wave.min(by: { $0.roundTrip < $1.roundTrip }) else { return }
        fit.add(best, base: base, from: best.sent - Self.window)
    }

    /// Selects the messages of a wave that restrict the polygon most: those of the probe with the least round trip, and
    /// the two fastest in each direction.
    private static func select(_ wave: [ClockProbe]) -> [(ClockProbe, isUpper: Bool)] {
        guard let best = wave.min(by: { $0.roundTrip < $1.roundTrip }) else { return [] }
        var result = [(best, isUpper: false), (best, isUpper: true)]
        for probe in wave.sorted(by: { $0.lower > $1.lower }).prefix(2) where probe != best {
            result.append((probe, isUpper: false))
        }
        for probe in wave.sorted(by: { $0.upper < $1.upper }).prefix(2) where probe != best {
            result.append((probe, isUpper: true))
        }
        return result
    }

    /// Returns the polygon of the lines that satisfy all constraints.
    private static func feasible(_ constraints: [Constraint], at reference: Int64) -> [Vertex] {
        let values = constraints.map(\.value)
        guard let least = values.min(), let greatest = values.max() else { return [] }
        // Within the window, the skew changes the offset by less than this.
        let margin = Double(window) / 1e6 * maxSkew * 2 + 1e6
        var polygon = [
            Vertex(offset: least - margin, skew: -maxSkew), Vertex(offset: greatest + margin, skew: -maxSkew),
            Vertex(offset: greatest + margin, skew: maxSkew), Vertex(offset: least - margin, skew: maxSkew),
        ]
        for constraint in constraints.reversed() {
            let age = Double(reference - constraint.time) / 1e6
            let slack = ClockWander.error(after: age)
            let sign = constraint.isUpper ? 1.0 : -1.0
            clip(&polygon) { vertex in
                // Positive if the line violates the constraint.
                sign * (vertex.offset - vertex.skew * age - constraint.value) - slack
            }
            if polygon.isEmpty { break }
        }
        return polygon
    }

    /// Removes the part of a convex polygon where the linear function `excess` is positive.
    private static func clip(_ polygon: inout [Vertex], _ excess: (Vertex) -> Double) {
        let values = polygon.map(excess)
        guard values.contains(where: { $0 > 0 }) else { return }
        var result: [Vertex] = []
        result.reserveCapacity(polygon.count + 1)
        for index in polygon.indices {
            let following = index + 1 == polygon.count ? 0 : index + 1
            let (value, next) = (values[index], values[following])
            if value <= 0 { result.append(polygon[index]) }
            guard (value > 0) != (next > 0), value != next else { continue }
            let part = value / (value - next)
            let (from, to) = (polygon[index], polygon[following])
            result.append(
                Vertex(
                    offset: from.offset + part * (to.offset - from.offset),
                    skew: from.skew + part * (to.skew - from.skew)))
        }
        polygon = result
    }
}

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
