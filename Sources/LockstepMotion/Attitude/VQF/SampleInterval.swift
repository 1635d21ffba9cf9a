/// The sample interval that a sensor's filters are made for, and whether it still fits.
///
/// Filters need one interval; the samples of a real sensor jitter, and some get lost. They are made for the mean, and
/// made anew when the mean has left a band about it.
struct SampleInterval: Sendable {
    /// How far the mean may be off, as a part.
    private static let band = 0.05
    /// How many samples the mean is of, about.
    private static let window = 200.0

    /// s.
    private(set) var nominal: Double
    private var mean: Double

    init(_ nominal: Double) {
        self.nominal = nominal
        mean = nominal
    }

    /// Takes in an interval, in s.
    /// - Returns: whether ``nominal`` has changed.
    @inline(__always)
    mutating func observe(_ elapsed: Double) -> Bool {
        // The common case first: an even grid.
        if elapsed == nominal, mean == nominal { return false }
        mean += (elapsed - mean) / Self.window
        guard abs(mean - nominal) > Self.band * nominal else { return false }
        nominal = mean
        return true
    }
}
