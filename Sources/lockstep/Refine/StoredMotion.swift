import LockstepModel
import LockstepMotion
import LockstepStore

/// The stored samples of gyroscope, accelerometer and magnetometer of a device.
struct StoredMotion {
    private static let window: Int64 = 60_000_000
    /// Samples before and after a window that are read for interpolation, in µs.
    private static let overlap: Int64 = 1_000_000

    let input: RefinedInput

    /// Calls `each` with the samples from `margin` µs before the time range to `margin` µs after it, in order of time.
    func read(margin: Int64, each: (MotionSample) throws -> Void) throws {
        let interpolator = MotionInterpolator()
        try input.windows(of: Self.window, margin: margin, begin: .gyroscope, next: [.gyroscope]) { begin, limit in
            let samples = interpolator.samples(
                gyroscope: try series(.gyroscope, from: begin, to: limit),
                accelerometer: try series(
                    .accelerometer, from: begin - Self.overlap, to: limit + Self.overlap, factor: -9.80665),
                magnetometer: try series(.magnetometer, from: begin - Self.overlap, to: limit + Self.overlap))
            try samples.forEach(each)
        }
    }

    private func series(
        _ stream: SensorStream, from: Timestamp, to: Timestamp, factor: Double = 1
    ) throws -> MotionInterpolator.Series {
        var series = MotionInterpolator.Series()
        try input.read(stream, from: from, to: to) { time, values in
            series.append(time: time.microseconds, SIMD3(values[0], values[1], values[2]) * factor)
        }
        return series
    }
}
