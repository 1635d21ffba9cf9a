import Glibc

/// Finds the time offset of two devices that were moved together, from the magnitudes of their acceleration or rotation
/// rate. Magnitudes do not depend on how a device is oriented.
///
/// Both magnitudes are resampled to 200 Hz, smoothed, and freed from slow changes (`MotionGrid`). The shift with the
/// largest normalised cross-correlation is the coarse offset (`MotionCorrelation`). It is then refined in segments of
/// the recording: the vertex of the parabola through the three values around the peak of each segment gives a fraction of
/// a sample. How well the segments agree gives the bound. See C. H. Knapp, G. C. Carter, "The generalized correlation
/// method for estimation of time delay", IEEE Transactions on Acoustics, Speech, and Signal Processing 24 (1976).
///
/// Long recordings are added in blocks of up to ten minutes, so that memory use does not grow with their length.
public struct MotionAligner: Sendable {
    /// The name and version of the method. The version changes whenever the results change.
    public static let method = "magnitude-correlation"
    /// See ``method``.
    public static let version = 1
    /// The recommended duration of a block, in µs.
    public static let blockDuration: Int64 = 600_000_000

    /// The smallest correlation of motions that belong together.
    static let minCorrelation = 0.3
    /// The smallest ratio of the correlation, as Fisher's z, to its standard deviation by chance. Among the thousand
    /// independent shifts of two minutes, chance alone exceeds 5 once in two thousand recordings.
    static let minSignificance = 5.0
    /// The smallest difference of the two largest peaks, as Fisher's z, in standard deviations by chance. Two peaks of
    /// similar height are an ambiguity, as by steps.
    static let minDistinction = 2.0
    /// The slowest sensor, in samples/s.
    static let minRate = 10.0
    /// The largest change of the offset within a block, in grid values: 200 ppm in five minutes.
    private static let maxDrift = 12
    private static let segments = 10
    private static let segmentDurations = 200...12_000

    /// The smallest standard deviation of the magnitude that counts as motion, in the unit of the sensor.
    public let minMotion: Double
    private var blocks: [Block] = []
    private var refusal: MotionAlignmentError?

    struct Block: Sendable {
        var correlation: Double
        var secondPeak: Double
        var significance: Double
        var points: [OffsetPoint]
    }

    /// Creates an aligner.
    ///
    /// - Parameter minMotion: the smallest standard deviation of the magnitude that counts as motion, in the unit of the
    ///   sensor: 0.02 for g, 0.05 for rad/s.
    public init(minMotion: Double) { self.minMotion = minMotion }

    /// Adds a block of samples of both devices.
    ///
    /// - Parameters:
    ///   - first: the samples of the first device.
    ///   - second: the samples of the second device, from the times that may belong to those of the first.
    ///   - offsets: the offsets to search, in µs: the first device's time minus the second's.
    public mutating func add(_ first: MagnitudeSeries, _ second: MagnitudeSeries, offsets: ClosedRange<Int64>) {
        do throws(MotionAlignmentError) {
            blocks.append(try block(first, second, offsets))
        } catch {
            // The reason that tells most about the recording: the one of the block that came closest to a result.
            refusal = max(refusal ?? error, error)
        }
    }

    /// Returns the offset.
    ///
    /// - Throws: ``MotionAlignmentError`` if the motions do not have a common, unambiguous offset.
    public func result() throws(MotionAlignmentError) -> MotionAlignment {
        guard !blocks.isEmpty else { throw refusal ?? .tooShort(seconds: 0) }
        return try MotionAlignment(blocks: blocks)
    }

    private func block(
        _ first: MagnitudeSeries, _ second: MagnitudeSeries, _ offsets: ClosedRange<Int64>
    ) throws(MotionAlignmentError) -> Block {
        for (series, isFirst) in [(first, true), (second, false)] {
            let rate = series.medianRate
            if let rate, rate < Self.minRate { throw .tooSlow(isFirst: isFirst, rate: rate) }
        }
        let (a, b) = (MotionGrid(first), MotionGrid(second))
        let minSeconds = Double(MotionCorrelation.minOverlap) * Double(MotionGrid.interval) / 1e6
        let common = min(a.knownSeconds, b.knownSeconds)
        guard common >= minSeconds else { throw .tooShort(seconds: common) }
        for (grid, isFirst) in [(a, true), (b, false)] where grid.deviation < minMotion {
            throw .noMotion(isFirst: isFirst, deviation: grid.deviation)
        }
        let origin = a.start - b.start
        let interval = Double(MotionGrid.interval)
        let shifts =
            Int(
                (Double(offsets.lowerBound - origin) / interval)
                    .rounded(.down))...Int((Double(offsets.upperBound - origin) / interval).rounded(.up))
        let correlation = MotionCorrelation(a, b, shifts: shifts)
        guard let peak = correlation.peak else {
            throw .tooShort(seconds: correlation.maxOverlap * interval / 1e6)
        }
        let lobe = correlation.lobe(of: peak)
        let second = correlation.peak(outside: lobe)
        // R. A. Fisher 1921: atanh makes the distribution of correlations normal.
        func z(_ peak: MotionCorrelation.Peak?) -> Double {
            atanh(min(peak?.value ?? 0, 0.999)) / correlation.deviationByChance(at: shift)
        }
        let shift = peak.shift
        let significance = z(peak)
        func offset(_ shift: Int) -> Double { Double(origin) + Double(shift) * interval }
        guard peak.value >= Self.minCorrelation, significance >= Self.minSignificance else {
            throw .noMatch(correlation: peak.value, significance: significance)
        }
        guard lobe.contains(peak.shift - 1), lobe.contains(peak.shift + 1) else {
            throw .outOfRange(offset: offset(peak.shift))
        }
        let ratio = (second?.value ?? 0) / peak.value
        guard significance - z(second) >= Self.minDistinction else {
            throw .ambiguous(
                offset: offset(peak.shift), other: offset(second?.shift ?? peak.shift), ratio: ratio)
        }
        return Block(
            correlation: peak.value, secondPeak: ratio, significance: significance,
            points: points(a, b, around: peak.shift, Double(origin)))
    }

    /// Returns the offset in each segment of a block in which the motions correlate.
    private func points(_ a: MotionGrid, _ b: MotionGrid, around shift: Int, _ origin: Double) -> [OffsetPoint] {
        // The part of the first motion that overlaps the second.
        let begin = max(0, shift)
        let end = min(a.values.count, b.values.count + shift)
        let length = min(
            max((end - begin) / Self.segments, Self.segmentDurations.lowerBound), Self.segmentDurations.upperBound)
        let count = max(1, (end - begin) / length)
        return (0..<count).compactMap { index in
            let low = begin + (end - begin) * index / count
            let high = begin + (end - begin) * (index + 1) / count
            return point(a, b, low..<high, around: shift, origin)
        }
    }

    private func point(
        _ a: MotionGrid, _ b: MotionGrid, _ segment: Range<Int>, around shift: Int, _ origin: Double
    ) -> OffsetPoint? {
        let reach = Self.maxDrift + 1
        let shifts = Array(shift - reach...shift + reach)
        let sums = shifts.map { PearsonSums(a, b, segment, shift: $0) }
        let values = sums.map(\.correlation)
        guard let best = values.indices.max(by: { values[$0] < values[$1] }), best > 0, best < values.count - 1,
            values[best] >= Self.minCorrelation, sums[best].count >= Double(segment.count) / 2
        else { return nil }
        let (before, peak, after) = (values[best - 1], values[best], values[best + 1])
        let curvature = before - 2 * peak + after
        guard curvature < 0 else { return nil }
        let fraction = 0.5 * (before - after) / curvature
        let interval = Double(MotionGrid.interval)
        let middle = Double(a.start) + interval * Double(segment.lowerBound + segment.upperBound) / 2
        // The variance of a delay is inverse to the signal-to-noise ratio, the duration and the curvature of the peak.
        let weight = sums[best].count * peak * peak / max(1 - peak * peak, 0.001) * -curvature / peak
        return OffsetPoint(
            time: middle, offset: origin + (Double(shifts[best]) + fraction) * interval, weight: weight)
    }
}

/// The offset in a segment.
struct OffsetPoint: Sendable, Hashable {
    /// The middle of the segment on the first device's clock, in µs.
    var time: Double
    /// The first device's time minus the second's, in µs.
    var offset: Double
    /// The inverse of the variance, up to a factor.
    var weight: Double
}

/// The sums from which the correlation of a segment at one shift follows.
private struct PearsonSums {
    var count = 0.0
    private var (x, y, xx, yy, xy) = (0.0, 0.0, 0.0, 0.0, 0.0)

    init(_ a: MotionGrid, _ b: MotionGrid, _ segment: Range<Int>, shift: Int) {
        let low = max(segment.lowerBound, shift)
        let high = min(segment.upperBound, b.values.count + shift)
        var index = low
        while index < high {
            let known = a.known[index] * b.known[index - shift]
            let (first, second) = (a.values[index] * known, b.values[index - shift] * known)
            count += known
            x += first
            y += second
            xx += first * first
            yy += second * second
            xy += first * second
            index += 1
        }
    }

    var correlation: Double {
        guard count > 0 else { return 0 }
        let scale = ((xx - x * x / count) * (yy - y * y / count)).squareRoot()
        return scale > 0 ? (xy - x * y / count) / scale : 0
    }
}

extension MagnitudeSeries {
    /// The rate of the samples without gaps, in samples/s; nil if there are fewer than two.
    var medianRate: Double? {
        guard times.count > 1 else { return nil }
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }.sorted()
        return 1e6 / Double(intervals[intervals.count / 2])
    }
}
