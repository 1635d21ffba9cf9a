import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

/// The stored samples of gyroscope, accelerometer and magnetometer of a device, read in windows of one minute, so that
/// memory use does not grow with the time range.
struct StoredMotion {
    private static let window: Int64 = 60_000_000
    /// Samples before and after a window that are read for interpolation, in µs.
    private static let overlap: Int64 = 1_000_000

    let reader: StoreReader
    let device: DeviceAddress
    let from: Timestamp?
    let to: Timestamp?

    /// Checks that the time range has samples of the required sensors.
    /// - Throws: ``CommandFailure`` that states what is missing.
    func check() throws {
        for stream in [SensorStream.gyroscope, .accelerometer] {
            try reader.checkSamples(
                of: stream, device, from: from, to: to, need: "the attitude requires gyroscope and accelerometer")
        }
    }

    /// Calls `each` with the samples from `margin` µs before the time range to `margin` µs after it, in order of time.
    func read(margin: Int64, each: (MotionSample) throws -> Void) throws {
        // Times may be at the ends of their range.
        let start = from.map { Timestamp(microseconds: max($0.microseconds, .min + margin) - margin) }
        let end = to.map { Timestamp(microseconds: min($0.microseconds, .max - margin) + margin) }
        let interpolator = MotionInterpolator()
        var next = try reader.firstTime(of: .gyroscope, device, from: start, to: end)
        while let begin = next {
            let limit = min(begin + Self.window, end ?? Timestamp(microseconds: .max))
            let samples = interpolator.samples(
                gyroscope: try series(.gyroscope, from: begin, to: limit),
                accelerometer: try series(
                    .accelerometer, from: begin - Self.overlap, to: limit + Self.overlap, factor: -9.80665),
                magnetometer: try series(.magnetometer, from: begin - Self.overlap, to: limit + Self.overlap))
            try samples.forEach(each)
            next = try reader.firstTime(of: .gyroscope, device, from: limit, to: end)
        }
    }

    private func series(
        _ stream: SensorStream, from: Timestamp, to: Timestamp, factor: Double = 1
    ) throws -> MotionInterpolator.Series {
        var series = MotionInterpolator.Series()
        try reader.run(SampleQuery(device: device, stream: stream, from: from, to: to), cancellation: nil) {
            time, values in
            series.append(time: time.microseconds, SIMD3(values[0], values[1], values[2]) * factor)
        }
        return series
    }
}
