/// How many decimals the values of a sensor have, as far as they have been seen.
///
/// What is worked out of them by a mean has no more to say, but would take up to seventeen digits in every payload.
struct DecimalResolution: Sendable {
    /// Fewer are not assumed: the first values may all be whole numbers, and a mean is a little finer than they are.
    private static let least = 4
    /// Values with more are not decimal fractions but results of a calculation, which stay as they are.
    private static let most = 9

    private var decimals = least
    private var steps = (0..<least).reduce(1.0) { product, _ in product * 10 }

    mutating func observe(_ value: Double) {
        while decimals <= Self.most, value.isFinite, (value * steps).rounded() / steps != value {
            decimals += 1
            steps *= 10
        }
    }

    /// `value` with as many decimals as those observed.
    func resolved(_ value: Double) -> Double {
        // Adding 0 keeps a negative zero from being written.
        decimals <= Self.most ? (value * steps).rounded() / steps + 0 : value
    }
}
