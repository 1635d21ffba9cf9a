/// The magnitudes of the samples of a three-axis sensor, in order of time.
public struct MagnitudeSeries: Sendable {
    /// The times, in µs.
    public private(set) var times: [Int64] = []
    /// The magnitudes, in the unit of the sensor.
    public private(set) var values: [Double] = []

    /// Creates an empty series.
    public init() {}

    /// Adds a sample. Samples with unknown values, and those that are not later than the previous one, are ignored.
    public mutating func append(time: Int64, x: Double, y: Double, z: Double) {
        let magnitude = (x * x + y * y + z * z).squareRoot()
        guard magnitude.isFinite, times.last ?? .min < time else { return }
        times.append(time)
        values.append(magnitude)
    }
}
