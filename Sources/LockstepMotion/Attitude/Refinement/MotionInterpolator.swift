/// Combines the samples of gyroscope, accelerometer and magnetometer, which have different times, at the gyroscope's
/// times. The other sensors are interpolated linearly between their neighbouring samples.
public struct MotionInterpolator: Sendable {
    /// Samples of one sensor, in order of time.
    public struct Series: Sendable {
        /// The times, in µs.
        public var times: [Int64] = []
        /// The values.
        public var values: [SIMD3<Double>] = []

        /// Creates an empty series.
        public init() {}

        /// Adds a sample. Samples with unknown values, and those that are not later than the previous one, are ignored.
        public mutating func append(time: Int64, _ value: SIMD3<Double>) {
            guard value.x.isFinite, value.y.isFinite, value.z.isFinite, times.last ?? .min < time else { return }
            times.append(time)
            values.append(value)
        }
    }

    /// The longest interval over which values are interpolated, in µs.
    public let maxGap: Int64

    /// Creates an interpolator.
    public init(maxGap: Int64 = 500_000) { self.maxGap = maxGap }

    /// Returns a sample at each time of the gyroscope at which the acceleration is known.
    ///
    /// - Parameters:
    ///   - gyroscope: in rad/s.
    ///   - accelerometer: specific forces, in m/s²: +9.8 upward at rest.
    ///   - magnetometer: in any unit; may be empty.
    public func samples(gyroscope: Series, accelerometer: Series, magnetometer: Series) -> [MotionSample] {
        var (nextForce, nextField) = (0, 0)
        return gyroscope.times.indices.compactMap { index in
            let time = gyroscope.times[index]
            guard let force = value(of: accelerometer, at: time, &nextForce) else { return nil }
            let field = value(of: magnetometer, at: time, &nextField)
            return MotionSample(
                time: time, rotationRate: gyroscope.values[index], force: force, magneticField: field)
        }
    }

    /// Returns the interpolated value, or nil without near samples.
    ///
    /// - Parameter next: the index of the first sample at or after the previous time.
    private func value(of series: Series, at time: Int64, _ next: inout Int) -> SIMD3<Double>? {
        while next < series.times.count, series.times[next] < time { next += 1 }
        let after = next < series.times.count ? series.times[next] : nil
        if after == time { return series.values[next] }
        let before = next > 0 ? series.times[next - 1] : nil
        switch (before, after) {
        case (let before?, let after?) where after - before <= maxGap:
            let part = Double(time - before) / Double(after - before)
            return series.values[next - 1] + (series.values[next] - series.values[next - 1]) * part
        // At the ends of a recording, sensors begin and end at slightly different times.
        case (let before?, _) where time - before <= maxGap / 5: return series.values[next - 1]
        case (_, let after?) where after - time <= maxGap / 5: return series.values[next]
        default: return nil
        }
    }
}
