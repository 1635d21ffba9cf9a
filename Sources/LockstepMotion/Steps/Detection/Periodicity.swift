/// Measures how periodic the last seconds of a signal are: the largest peak of the normalised autocorrelation
/// (Pearson's correlation of the signal with a delayed copy of itself) over the lags that can be a step or a stride.
///
/// It is evaluated twice a second at half the detector's rate. An evaluation takes some ten thousand multiplications.
struct Periodicity: Sendable {
    /// The number of input values between evaluations: 0.5 s.
    private static let evaluationInterval = 25
    /// The shortest lag in s: a short step.
    private static let minLag = 0.28
    /// The longest lag in s: a long stride.
    private static let maxLag = 2.0
    /// The smallest fraction of the window that must remain for the comparison at a lag.
    private static let minOverlap = 0.4
    /// The fraction of the largest correlation that a smaller lag needs to be the fundamental period.
    private static let fundamentalRatio = 0.85
    /// The fraction of the window that must be filled before the first evaluation.
    private static let minFilled = 0.6

    /// The periodicity: 1 for an exactly periodic signal, about 0.3 for hand movements at a desk, 0 for a signal
    /// without period.
    private(set) var value = 0.0
    /// The fundamental period of the signal in s: the smallest lag whose correlation is close to the largest one; nil
    /// if no lag has a peak.
    private(set) var fundamentalPeriod: Double?
    /// The correlation at half the fundamental period: positive if the signal has two similar peaks per period.
    private(set) var halfway = 0.0
    /// The kurtosis of the window (``SignalWindow/kurtosis``).
    private(set) var kurtosis = 0.0

    private var window: SignalWindow
    private var ticks = 0
    /// The peaks of the last evaluation: the lag in samples, with fraction, and the correlation.
    private var peaks: [(lag: Double, correlation: Double)] = []

    /// - Parameter seconds: the length of the analysed window, in s.
    init(seconds: Double) { window = SignalWindow(seconds: seconds) }

    /// Adds the next band-passed value.
    ///
    /// - Returns: whether the properties were evaluated.
    @discardableResult
    mutating func update(_ sample: Double) -> Bool {
        window.update(sample)
        ticks += 1
        guard ticks % Self.evaluationInterval == 0, window.filled >= Self.minFilled else { return false }
        evaluate()
        return true
    }

    mutating func reset() {
        (value, halfway, kurtosis, ticks) = (0, 0, 0, 0)
        fundamentalPeriod = nil
        window.reset()
    }

    private mutating func evaluate() {
        let maxShift = min(Int(Self.maxLag * SignalWindow.rate), window.maxShift(overlap: Self.minOverlap))
        var largest = 0.0
        peaks.removeAll(keepingCapacity: true)
        // A peak is larger than both neighbours. The ends of the range are therefore never peaks.
        var (before, middle) = (Double.infinity, Double.infinity)
        for shift in Int(Self.minLag * SignalWindow.rate)...maxShift {
            let after = window.correlation(shift: shift)
            if middle > before, middle >= after {
                largest = max(largest, middle)
                // The vertex of the parabola through the three values is more precise than the spacing of the lags.
                let vertex = 0.5 * (before - after) / (before - 2 * middle + after)
                peaks.append((Double(shift - 1) + vertex, middle))
            }
            (before, middle) = (middle, after)
        }
        value = largest
        let fundamental = peaks.first { $0.correlation >= Self.fundamentalRatio * largest }
        fundamentalPeriod = fundamental.map { $0.lag / SignalWindow.rate }
        halfway = fundamental.map { window.correlation(shift: Int(($0.lag / 2).rounded())) } ?? 0
        kurtosis = window.kurtosis
    }
}
