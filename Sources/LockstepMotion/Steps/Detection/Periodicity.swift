import Glibc

/// Tells how much the last seconds of a signal repeat themselves: the greatest peak of the normalised autocorrelation
/// (Pearson's coefficient of the signal and itself, shifted) among the shifts that can be a step or a stride.
///
/// Worked out twice a second, from every second value of the grid: some ten thousand multiplications.
struct Periodicity: Sendable {
    /// Values a second that are kept.
    private static let rate = MagnitudeGrid.rate / 2
    /// Values of the grid from one evaluation to the next: 0.5 s.
    private static let pause = 25
    /// Shifts, in s, from the shortest step to the longest stride.
    private static let shortest = 0.28
    private static let longest = 2.0
    /// A shift leaves this part of the window to compare, or more.
    private static let leastOverlap = 0.4
    /// Nothing is told before this part of the window is filled.
    private static let leastFilled = 0.6

    /// 1 where the signal repeats itself exactly, around 0.3 for what a hand does at a desk, 0 where nothing repeats.
    private(set) var value = 0.0

    /// The last values, each kept twice so that they always lie in a row from `head` on.
    private var window: [Double]
    private let length: Int
    private var head = 0
    private var count = 0
    private var ticks = 0

    /// - Parameter seconds: how far back it looks.
    init(seconds: Double) {
        length = Int((seconds * Self.rate).rounded())
        window = [Double](repeating: 0, count: 2 * length)
    }

    /// Takes the next value on the grid.
    mutating func update(_ sample: Double) {
        if ticks % 2 == 0 {
            window[head] = sample
            window[head + length] = sample
            head = head + 1 == length ? 0 : head + 1
            count = min(count + 1, length)
        }
        ticks = (ticks + 1) % (2 * Self.pause)
        if ticks % Self.pause == 0, Double(count) >= Self.leastFilled * Double(length) { evaluate() }
    }

    mutating func reset() {
        (value, head, count, ticks) = (0, 0, 0, 0)
    }

    private mutating func evaluate() {
        let first = head + length - count
        let longest = min(Int(Self.longest * Self.rate), Int((1 - Self.leastOverlap) * Double(count)))
        var greatest = 0.0
        // Of a peak three neighbours are compared; the ends are not peaks, however high.
        var (before, middle) = (Double.infinity, Double.infinity)
        for shift in Int(Self.shortest * Self.rate)...longest {
            let after = correlation(first, shift: shift)
            if middle > before, middle >= after { greatest = max(greatest, middle) }
            (before, middle) = (middle, after)
        }
        value = greatest
    }

    /// Pearson's coefficient of the window from index `first` on with itself, `shift` values later.
    private func correlation(_ first: Int, shift: Int) -> Double {
        let overlap = count - shift
        var (early, late) = (0.0, 0.0)
        var (earlySquares, lateSquares, products) = (0.0, 0.0, 0.0)
        var index = first
        // No range and no pairs: this is where the time goes.
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
        // A signal of nothing repeats nothing; 1e-12 is (µg)² · g².
        guard power > 1e-12 else { return 0 }
        return (products - early * late / count) / power.squareRoot()
    }
}
