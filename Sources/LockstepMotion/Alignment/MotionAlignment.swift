import Glibc

/// The time offset of two devices that were moved together.
public struct MotionAlignment: Sendable, Hashable {
    /// The first device's time minus the second's at ``time``, in µs.
    public var offset: Double
    /// The largest error of the offset that is to be expected, in µs: three standard errors from the scatter between
    /// segments, more if there are few segments, and a fiftieth of the grid's interval.
    ///
    /// It does not contain delays of the sensors themselves, nor movements of one device against the other.
    public var bound: Double
    /// The time for which the offset holds on the first device's clock, in µs: the middle of the segments used.
    public var time: Double
    /// The change of the offset, in ppm; nil if the recording is too short.
    public var drift: Double?
    /// The largest error of the drift that is to be expected, in ppm.
    public var driftBound: Double?
    /// The normalised cross-correlation at the offset, 0…1.
    public var correlation: Double
    /// The largest other peak of the correlation relative to that at the offset.
    public var secondPeak: Double
    /// The correlation, as Fisher's z, relative to its standard deviation if the motions were independent.
    public var significance: Double
    /// The number of segments used.
    public var segments: Int

    /// The shortest recording for which a drift is computed, in µs.
    private static let minDriftDuration = 60e6
    private static let minSegments = 3
    /// Segments that are further from the line than this, in µs, may be outliers; nearer ones never are.
    private static let minTolerance = 2000.0

    init(blocks: [MotionAligner.Block]) throws(MotionAlignmentError) {
        let points = blocks.flatMap(\.points)
        let used = Self.consistent(points)
        guard used.count >= Self.minSegments, 2 * used.count >= points.count else {
            throw .inconsistent(segments: points.count, consistent: used.count)
        }
        let span = (used.map(\.time).max() ?? 0) - (used.map(\.time).min() ?? 0)
        let line = OffsetLine(used, hasSlope: used.count >= 4 && span >= Self.minDriftDuration)
        (offset, time, segments) = (line.offset, line.time, used.count)
        bound = line.standardError * line.factor + Double(MotionGrid.interval) / 50
        if let slope = line.slope {
            drift = slope * 1e6
            driftBound = line.slopeError * line.factor * 1e6
        }
        correlation = blocks.map(\.correlation).max() ?? 0
        secondPeak = blocks.map(\.secondPeak).min() ?? 0
        significance = blocks.map(\.significance).max() ?? 0
    }

    /// Returns the points without outliers: those near a robust line, the median of the lines through pairs of points
    /// (H. Theil 1950, P. K. Sen 1968).
    private static func consistent(_ points: [OffsetPoint]) -> [OffsetPoint] {
        guard points.count > 2 else { return points }
        // Pairs that are half the recording apart are sufficient, and their number does not grow with the square.
        let half = points.count / 2
        let slopes = (0..<points.count - half).map { index -> Double in
            let (first, second) = (points[index], points[index + half])
            return (second.offset - first.offset) / max(second.time - first.time, 1)
        }
        // A quartz is never that far off.
        let slope = abs(median(slopes)) <= 0.001 ? median(slopes) : 0
        let origin = points[0].time
        let level = median(points.map { $0.offset - slope * ($0.time - origin) })
        func distance(_ point: OffsetPoint) -> Double {
            abs(point.offset - level - slope * (point.time - origin))
        }
        let tolerance = max(minTolerance, 4 * 1.4826 * median(points.map(distance)))
        // Scattered points are no offset at all.
        return points.filter { distance($0) <= min(tolerance, 30_000) }
    }
}

/// A weighted least-squares line through offsets.
private struct OffsetLine {
    let offset: Double
    let time: Double
    var slope: Double?
    var standardError = 0.0
    var slopeError = 0.0
    /// The number of standard errors in a bound: 3, and more for few points, for which the standard error is itself
    /// uncertain (as with Student's t).
    let factor: Double

    init(_ points: [OffsetPoint], hasSlope: Bool) {
        let weight = points.reduce(0) { $0 + $1.weight }
        let time = points.reduce(0) { $0 + $1.weight * $1.time } / weight
        let offset = points.reduce(0) { $0 + $1.weight * $1.offset } / weight
        let squares = points.reduce(0) { $0 + $1.weight * ($1.time - time) * ($1.time - time) }
        let slope =
            hasSlope ? points.reduce(0) { $0 + $1.weight * ($1.time - time) * ($1.offset - offset) } / squares : 0
        let freedom = Double(points.count - (hasSlope ? 2 : 1))
        let residuals = points.reduce(0) { sum, point in
            let residual = point.offset - offset - slope * (point.time - time)
            return sum + point.weight * residual * residual
        }
        (self.time, self.offset) = (time, offset)
        if hasSlope { self.slope = slope }
        standardError = (residuals / freedom / weight).squareRoot()
        slopeError = (residuals / freedom / squares).squareRoot()
        factor = 3 * (1 + 1 / freedom + 4 / (freedom * freedom))
    }
}

private func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}
