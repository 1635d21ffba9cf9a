/// Tracks the sample interval for which a sensor's filters are designed.
///
/// The intervals of a real sensor jitter and some samples are lost. The filters are designed for the mean interval, and
/// redesigned when the mean leaves a band about it.
struct SampleInterval: Sendable {
    /// The relative half-width of the band.
    private static let band = 0.05
    /// The approximate number of samples in the mean.
    private static let window = 200.0

    /// The interval for which the filters are designed, in s.
    private(set) var nominal: Double
    private var mean: Double

    init(_ nominal: Double) {
        self.nominal = nominal
        mean = nominal
    }

    /// Adds an interval, in s.
    ///
    /// - Returns: whether ``nominal`` has changed.
    @inline(__always)
    mutating func observe(_ elapsed: Double) -> Bool {
        // Fast path for evenly spaced samples.
        if elapsed == nominal, mean == nominal { return false }
        mean += (elapsed - mean) / Self.window
        guard abs(mean - nominal) > Self.band * nominal else { return false }
        nominal = mean
        return true
    }
}
