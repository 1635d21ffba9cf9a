import LockstepModel

/// Conversions of foreign times to µs since 1970.
enum ForeignTime {
    /// Returns a time given in seconds. Whole seconds are converted without rounding, fractions to the nearest µs.
    /// - Returns: nil if there is no number, or if it is out of range.
    static func microseconds(seconds value: JSONValue?) -> Int64? {
        switch value {
        case .integer(let seconds): scaled(seconds, by: 1_000_000)
        case .real(let seconds): microseconds(seconds: seconds)
        default: nil
        }
    }

    /// Returns a time given in seconds, to the nearest µs; nil if it is out of range.
    static func microseconds(seconds: Double) -> Int64? {
        // The whole part apart, because the product of a large number and 10⁶ is not exact.
        let whole = seconds.rounded(.down)
        guard let base = Int64(exactly: whole).flatMap({ scaled($0, by: 1_000_000) }) else { return nil }
        let fraction = Int64(((seconds - whole) * 1_000_000).rounded())
        return base + fraction
    }

    /// Returns a time given in nanoseconds, rounded to the nearest µs; half a µs is rounded up.
    static func microseconds(nanoseconds: Int64) -> Int64 {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1000)
        // The quotient is rounded towards zero.
        return remainder >= 500 ? quotient + 1 : remainder < -500 ? quotient - 1 : quotient
    }

    /// Returns a time given in milliseconds; nil if it is out of range.
    static func microseconds(milliseconds: Int64) -> Int64? { scaled(milliseconds, by: 1000) }

    private static func scaled(_ value: Int64, by factor: Int64) -> Int64? {
        let (result, isOverflow) = value.multipliedReportingOverflow(by: factor)
        return isOverflow || result.magnitude >= 1 << 53 ? nil : result
    }
}
