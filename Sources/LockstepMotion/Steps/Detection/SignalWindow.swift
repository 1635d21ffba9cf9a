/// The last seconds of a signal, at half the detector's rate, for correlation with a delayed copy of itself.
struct SignalWindow: Sendable {
    /// The rate of the stored values, in Hz.
    static let rate = AccelerationResampler.rate / 2

    /// A ring buffer in which each value is stored twice, so that the newest `length` values are contiguous from `head`.
    private var values: [Double]
    private let length: Int
    private var head = 0
    private var count = 0
    private var isSkipped = false

    /// - Parameter seconds: the length of the window, in s.
    init(seconds: Double) {
        length = Int((seconds * Self.rate).rounded())
        values = [Double](repeating: 0, count: 2 * length)
    }

    /// Adds a value at the detector's rate. Every other one is stored, so the signal must be free of frequencies above a
    /// quarter of that rate.
    mutating func update(_ value: Double) {
        defer { isSkipped.toggle() }
        guard !isSkipped else { return }
        values[head] = value
        values[head + length] = value
        head = head + 1 == length ? 0 : head + 1
        count = min(count + 1, length)
    }

    /// The number of values, 0…1 of the window's length.
    var filled: Double { Double(count) / Double(length) }

    /// The largest delay in values that leaves `overlap`, 0…1, of the present values for the comparison.
    func maxShift(overlap: Double) -> Int { Int((1 - overlap) * Double(count)) }

    mutating func reset() { (head, count, isSkipped) = (0, 0, false) }

    /// Returns Pearson's correlation of the window with itself delayed by `shift` values; 0 if it is too short.
    func correlation(shift: Int) -> Double {
        let overlap = count - shift
        guard overlap > 1 else { return 0 }
        let first = head + length - count
        var (early, late) = (0.0, 0.0)
        var (earlySquares, lateSquares, products) = (0.0, 0.0, 0.0)
        var index = first
        // The inner loop of the detector: a plain index is faster than ranges and zipped sequences.
        while index < first + overlap {
            let x = values[index]
            let y = values[index + shift]
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

    /// Returns the largest correlation at a delay in s, one value more or less.
    func correlation(near delay: Double) -> Double {
        let shift = Int((delay * Self.rate).rounded())
        return (max(shift - 1, 1)...shift + 1).reduce(-1) { max($0, correlation(shift: $1)) }
    }

    /// A sum of squares in g² up to which nothing moves. The powers of smaller ones may be 0.
    private static let rest = 1e-12

    /// The kurtosis of a signal without constant part: 1.5 for a sine, and larger the shorter the peaks; 0 at rest.
    var kurtosis: Double {
        let first = head + length - count
        var (squares, fourths) = (0.0, 0.0)
        for index in first..<first + count {
            let square = values[index] * values[index]
            squares += square
            fourths += square * square
        }
        return squares > Self.rest ? fourths * Double(count) / (squares * squares) : 0
    }

    /// The skewness: positive for short peaks, negative for short dips; 0 at rest.
    var skewness: Double {
        let first = head + length - count
        let mean = values[first..<first + count].reduce(0, +) / Double(max(count, 1))
        var (squares, cubes) = (0.0, 0.0)
        for index in first..<first + count {
            let deviation = values[index] - mean
            squares += deviation * deviation
            cubes += deviation * deviation * deviation
        }
        return squares > Self.rest ? cubes * Double(count).squareRoot() / (squares * squares.squareRoot()) : 0
    }
}
