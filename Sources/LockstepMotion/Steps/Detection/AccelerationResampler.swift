import Glibc

/// Resamples accelerations at arbitrary times to 50 Hz, so that the rest of the detector sees one rate: x, y and z, and the
/// magnitude of the original samples, in g.
///
/// An output value is the mean, over a cell of 20 ms, of the linear interpolation between samples. For fast samples
/// this is an average that suppresses frequencies above 25 Hz; for slow samples it interpolates. Missing samples are
/// interpolated unless the gap is too long.
struct AccelerationResampler: Sendable {
    /// The output rate, in Hz.
    static let rate = 50.0
    /// The duration of a cell, in µs.
    static let cell: Int64 = 20_000
    /// The longest interval between samples that is interpolated, in µs.
    static let maxGap: Int64 = 1_000_000

    /// The effect of an input sample.
    enum Arrival {
        /// The sample is the first, or the first after a gap. The output starts at its time.
        case starts
        /// The sample continues the signal. ``next()`` returns the values that are now complete.
        case continues
        /// The sample is ignored: it is not later than the previous one, its magnitude is not finite, or its time
        /// exceeds 2⁶² µs.
        case ignored
    }

    /// The end of the last cell that ``next()`` returned, or the time of the first sample, in µs.
    private(set) var time: Int64 = 0

    private var isEmpty = true
    private var last: Int64 = 0
    private var value = SIMD4<Double>()
    /// The integration limit reached so far, between `last` and `target`.
    private var position: Int64 = 0
    private var target: Int64 = 0
    private var slope = SIMD4<Double>()
    /// The integral over the current cell so far, in g · µs.
    private var sum = SIMD4<Double>()

    /// - Parameters:
    ///   - now: the sample's time, in µs.
    ///   - x: the acceleration along the x axis in g; `y` and `z` likewise.
    mutating func add(time now: Int64, x: Double, y: Double, z: Double) -> Arrival {
        let magnitude = (x * x + y * y + z * z).squareRoot()
        // Near the limits of Int64 the end of the next cell would overflow.
        guard magnitude.isFinite, now.magnitude < 1 << 62, isEmpty || now > target else { return .ignored }
        let sample = SIMD4(x, y, z, magnitude)
        let elapsed = now - target
        guard !isEmpty, elapsed <= Self.maxGap else {
            isEmpty = false
            (last, target, position, time) = (now, now, now, now)
            (value, slope, sum) = (sample, .zero, .zero)
            return .starts
        }
        let before = value + slope * Double(target - last)
        (last, target) = (target, now)
        value = before
        slope = (sample - before) / Double(elapsed)
        return .continues
    }

    /// Returns the next complete value, in g, or nil if more samples are needed.
    mutating func next() -> SIMD4<Double>? {
        let end = min(time + Self.cell, target)
        let middle = Double(position - last) + Double(end - position) / 2
        sum += (value + slope * middle) * Double(end - position)
        position = end
        guard end == time + Self.cell else { return nil }
        let mean = sum / Double(Self.cell)
        time = end
        sum = .zero
        return mean
    }
}
