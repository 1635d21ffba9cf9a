/// The unit in which another program writes times.
public enum TimeUnit: String, Sendable, CaseIterable {
    /// Seconds since 1970, with or without a fraction.
    case seconds = "s"
    /// Milliseconds since 1970.
    case milliseconds = "ms"
    /// Microseconds since 1970.
    case microseconds = "us"
    /// Nanoseconds since 1970.
    case nanoseconds = "ns"
    /// A date and time in ISO 8601; UTC if it has no time zone.
    case iso

    /// Returns a whole number in µs, rounded to the nearest one; nil if it is out of range.
    public func microseconds(_ number: Int64) -> Int64? {
        switch self {
        case .seconds: Self.scaled(number, by: 1_000_000)
        case .milliseconds: Self.scaled(number, by: 1000)
        case .microseconds: Self.scaled(number, by: 1)
        case .nanoseconds:
            // Half a µs is rounded up. The quotient is rounded towards zero.
            switch number.quotientAndRemainder(dividingBy: 1000) {
            case (let quotient, 500...): Self.scaled(quotient + 1, by: 1)
            case (let quotient, ..<(-500)): Self.scaled(quotient - 1, by: 1)
            case (let quotient, _): Self.scaled(quotient, by: 1)
            }
        case .iso: nil
        }
    }

    /// Returns a number in µs, rounded to the nearest one; nil if it is out of range.
    public func microseconds(_ number: Double) -> Int64? {
        // The whole part apart, because the product of a large number and 10⁶ is not exact.
        let whole = number.rounded(.down)
        guard let base = Int64(exactly: whole).flatMap({ microseconds($0) }) else { return nil }
        let scale =
            switch self {
            case .seconds: 1e6
            case .milliseconds: 1e3
            case .microseconds: 1.0
            case .nanoseconds, .iso: 0.0
            }
        return base + Int64(((number - whole) * scale).rounded())
    }

    /// The unit in which a number is a date from 2000 to 2100; nil if there is none. There is never more than one.
    public static func plausible(_ number: Double) -> TimeUnit? {
        allCases.first { unit in unit.microseconds(number).map(plausibleTimes.contains) ?? false }
    }

    /// From 2000 to 2100, in µs since 1970.
    public static let plausibleTimes: Range<Int64> = 946_684_800_000_000..<4_102_444_800_000_000

    private static func scaled(_ value: Int64, by factor: Int64) -> Int64? {
        let (result, isOverflow) = value.multipliedReportingOverflow(by: factor)
        return isOverflow || result.magnitude >= 1 << 53 ? nil : result
    }
}
