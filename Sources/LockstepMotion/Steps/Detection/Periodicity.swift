import Glibc

/// Measures how periodic the last seconds of a signal are: the largest peak of the normalised autocorrelation
/// (Pearson's correlation of the signal with a delayed copy of itself) over the lags that can be a step or a stride.
///
/// It is evaluated twice a second at half the detector's rate. An evaluation takes some ten thousand multiplications.
struct Periodicity: Sendable {
    /// The rate of the stored values, in Hz.
    private static let rate = MagnitudeResampler.rate / 2
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

    /// A ring buffer in which each value is stored twice, so that the newest `length` values are contiguous from
    /// `head`.
    private var window: [Double]
    private let length: Int
    private var head = 0
    private var count = 0
    private var ticks = 0
    /// The peaks of the last evaluation: the lag in samples, with fraction, and the correlation.
    private var peaks: [(lag: Double, correlation: Double)] = []

    /// - Parameter seconds: the length of the analysed window, in s.
    init(seconds: Double) {
        length = Int((seconds * Self.rate).rounded())
        window = [Double](repeating: 0, count: 2 * length)
    }

    /// Adds the next band-passed value.
    mutating func update(_ sample: Double) {
        if ticks % 2 == 0 {
            window[head] = sample
            window[head + length] = sample
            head = head + 1 == length ? 0 : head + 1
            count = min(count + 1, length)
        }
        ticks = (ticks + 1) % (2 * Self.evaluationInterval)
        if ticks % Self.evaluationInterval == 0, Double(count) >= Self.minFilled * Double(length) { evaluate() }
    }

    mutating func reset() {
        (value, head, count, ticks) = (0, 0, 0, 0)
        fundamentalPeriod = nil
    }

    private mutating func evaluate() {
        let first = head + length - count
        let maxShift = min(Int(Self.maxLag * Self.rate), Int((1 - Self.minOverlap) * Double(count)))
        var largest = 0.0
        peaks.removeAll(keepingCapacity: true)
        // A peak is larger than both neighbours. The ends of the range are therefore never peaks.
        var (before, middle) = (Double.infinity, Double.infinity)
        for shift in Int(Self.minLag * Self.rate)...maxShift {
            let after = correlation(first, shift: shift)
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
        fundamentalPeriod = fundamental.map { $0.lag / Self.rate }
    }

    /// Returns Pearson's correlation of the window, from index `first` on, with itself delayed by `shift` values.
    private func correlation(_ first: Int, shift: Int) -> Double {
        let overlap = count - shift
        var (early, late) = (0.0, 0.0)
        var (earlySquares, lateSquares, products) = (0.0, 0.0, 0.0)
        var index = first
        // The inner loop of the detector: a plain index is faster than ranges and zipped sequences.
        while index < first + overlap {
            let x = window[index]
            let y = window[index + shift]
            early += x
            late += y
            earlySquares += x * x
            lateSquares += y * y
            products += x * y
            index += 1
        }
        let count = Double(overlap)
        let power = (earlySquares - early * early / count) * (lateSquares - late * late / count)
        // The correlation of a constant signal is undefined. The threshold, in g⁴, is well below the power of any
        // movement.
        guard power > 1e-12 else { return 0 }
        return (products - early * late / count) / power.squareRoot()
    }
}
