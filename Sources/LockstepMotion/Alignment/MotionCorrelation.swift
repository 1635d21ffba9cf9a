import Glibc

/// The correlation of two motions as a function of their shift.
///
/// The motions have gaps, and overlap differently at each shift. The correlation at each shift is Pearson's, over the
/// values that both have there: D. Padfield, "Masked object registration in the Fourier domain", IEEE Transactions on
/// Image Processing 21 (2012).
struct MotionCorrelation: Sendable {
    struct Peak: Sendable, Hashable {
        /// The shift: the value at index i + shift of the first motion belongs to that at index i of the second.
        var shift: Int
        /// The correlation there.
        var value: Double
    }

    /// The smallest overlap for which the correlation is computed, in values.
    static let minOverlap = 1000
    /// The same as a part of the largest overlap: with less, large correlations would occur by chance.
    private static let minOverlapRatio = 0.4

    let shifts: ClosedRange<Int>
    /// The correlation at each shift; 0 where the overlap is too small.
    let values: [Double]
    /// The number of values that both motions have at each shift.
    let overlaps: [Double]
    /// Σ ρ₁(k) ρ₂(k) over all k, where ρ are the autocorrelations of the motions.
    private let spread: Double

    init(_ first: MotionGrid, _ second: MotionGrid, shifts: ClosedRange<Int>) {
        self.shifts = shifts
        let transform = FourierTransform(minSize: first.values.count + second.values.count)
        let (x, y) = (transform.forward(first.values), transform.forward(second.values))
        let (inX, inY) = (transform.forward(first.known), transform.forward(second.known))
        let (squareX, squareY) = (
            transform.forward(first.values.map { $0 * $0 }), transform.forward(second.values.map { $0 * $0 })
        )
        let reach = (1 - second.values.count)...max(1 - second.values.count, first.values.count - 1)
        func sums(_ a: FourierTransform.Values, _ b: FourierTransform.Values) -> [Double] {
            let all = transform.correlation(a, b)
            return shifts.map { reach.contains($0) ? all[$0 < 0 ? $0 + all.count : $0] : 0 }
        }
        let overlaps = sums(inX, inY).map { $0.rounded() }
        let products = sums(x, y)
        let (sumX, sumY) = (sums(x, inY), sums(inX, y))
        let (squaresX, squaresY) = (sums(squareX, inY), sums(inX, squareY))
        let enough = max(Double(Self.minOverlap), Self.minOverlapRatio * (overlaps.max() ?? 0))
        values = overlaps.indices.map { index in
            let count = overlaps[index]
            guard count >= enough else { return 0 }
            let varianceX = squaresX[index] - sumX[index] * sumX[index] / count
            let varianceY = squaresY[index] - sumY[index] * sumY[index] / count
            let scale = (varianceX * varianceY).squareRoot()
            return scale > 0 ? (products[index] - sumX[index] * sumY[index] / count) / scale : 0
        }
        self.overlaps = overlaps
        // Parseval: the sum of the products of the autocorrelations is that of the power spectra.
        var (power, powerX, powerY) = (0.0, 0.0, 0.0)
        for index in 0..<transform.size {
            let (a, b) = (
                x.real[index] * x.real[index] + x.imaginary[index] * x.imaginary[index],
                y.real[index] * y.real[index] + y.imaginary[index] * y.imaginary[index]
            )
            power += a * b
            powerX += a
            powerY += b
        }
        spread = powerX * powerY > 0 ? power * Double(transform.size) / (powerX * powerY) : 0
    }

    /// The largest overlap, in values.
    var maxOverlap: Double { overlaps.max() ?? 0 }

    /// The largest correlation, or nil if no shift has enough overlap.
    var peak: Peak? {
        guard let index = values.indices.max(by: { values[$0] < values[$1] }), values[index] > 0 else { return nil }
        return Peak(shift: shifts.lowerBound + index, value: values[index])
    }

    /// The shifts around a peak up to the next minima.
    func lobe(of peak: Peak) -> ClosedRange<Int> {
        var (low, high) = (peak.shift - shifts.lowerBound, peak.shift - shifts.lowerBound)
        while low > 0, values[low - 1] < values[low] { low -= 1 }
        while high < values.count - 1, values[high + 1] < values[high] { high += 1 }
        return (low + shifts.lowerBound)...(high + shifts.lowerBound)
    }

    /// The largest correlation outside of a range of shifts, or nil if there is none above 0.
    func peak(outside lobe: ClosedRange<Int>) -> Peak? {
        var best: Peak?
        for (index, value) in values.enumerated() where value > best?.value ?? 0 {
            let shift = shifts.lowerBound + index
            if !lobe.contains(shift) { best = Peak(shift: shift, value: value) }
        }
        return best
    }

    /// The standard deviation of the correlation at a shift if the motions were independent: M. S. Bartlett, "On the
    /// theoretical specification and sampling properties of autocorrelated time-series", Journal of the Royal
    /// Statistical Society, Supplement 8 (1946). Periodic motions correlate by chance more than others.
    func deviationByChance(at shift: Int) -> Double {
        let count = overlaps[shift - shifts.lowerBound]
        return count > 0 ? (spread / count).squareRoot() : .infinity
    }
}
