/// Tracks the number of decimals in a sensor's values.
///
/// A mean of these values is not more precise, but without rounding takes up to seventeen digits in every payload.
struct DecimalResolution: Sendable {
    /// The minimum. The first values may all be whole numbers, and a mean is slightly more precise than the values.
    private static let minDecimals = 4
    /// The maximum. Values with more decimals are results of a calculation and are not rounded.
    private static let maxDecimals = 9

    private var decimals = minDecimals
    private var steps = (0..<minDecimals).reduce(1.0) { product, _ in product * 10 }

    /// Increases the number of decimals if `value` has more.
    mutating func observe(_ value: Double) {
        while decimals <= Self.maxDecimals, value.isFinite, (value * steps).rounded() / steps != value {
            decimals += 1
            steps *= 10
        }
    }

    /// Returns `value` rounded to the number of decimals observed.
    func resolved(_ value: Double) -> Double {
        // Adding 0 turns a negative zero into a positive one, which is shorter on the wire.
        decimals <= Self.maxDecimals ? (value * steps).rounded() / steps + 0 : value
    }
}
