import LockstepModel

/// The unit in which a sender writes times.
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

    /// Returns a whole number in µs; nil if it is out of range.
    fileprivate func microseconds(_ number: Int64) -> Int64? {
        switch self {
        case .seconds: ForeignTime.microseconds(seconds: .integer(number))
        case .milliseconds: ForeignTime.microseconds(milliseconds: number)
        case .microseconds: number.magnitude < 1 << 53 ? number : nil
        case .nanoseconds: ForeignTime.microseconds(nanoseconds: number)
        case .iso: nil
        }
    }

    /// Returns a number to the nearest µs; nil if it is out of range.
    fileprivate func microseconds(_ number: Double) -> Int64? {
        guard let whole = Int64(exactly: number.rounded(.down)), let base = microseconds(whole) else { return nil }
        let scale =
            switch self {
            case .seconds: 1e6
            case .milliseconds: 1e3
            case .microseconds: 1.0
            case .nanoseconds, .iso: 0.0
            }
        return base + Int64(((number - Double(whole)) * scale).rounded())
    }

    /// The unit in which a number is a date from 2000 to 2100; nil if there is none. There is never more than one.
    fileprivate static func plausible(_ number: Double) -> TimeUnit? {
        allCases.first { unit in unit.microseconds(number).map(plausibleTimes.contains) ?? false }
    }

    /// From 2000 to 2100.
    fileprivate static let plausibleTimes: Range<Int64> = 946_684_800_000_000..<4_102_444_800_000_000
}

/// The reason why a value of a message is no time.
enum TimeProblem: Error, Hashable {
    /// There is no value.
    case missing
    /// The value is neither a number, nor a number or a date as a text.
    case unreadable(String)
    /// The time is outside of what a timestamp can be.
    case outOfRange(String, TimeUnit)
    /// The value is a date of this century in another unit, but not in that of the format.
    case otherUnit(String, expected: TimeUnit, likely: TimeUnit)

    /// Returns a sentence for a log entry.
    /// - Parameter place: the field.
    func text(_ place: String) -> String {
        switch self {
        case .missing: "\(place) is missing"
        case .unreadable(let value): "\(place) is \(value), which is no time"
        case .outOfRange(let value, let unit): "\(place) is \(value), which is out of range in \(unit.rawValue)"
        case .otherUnit(let value, let expected, let likely):
            "\(place) is \(value), which is no plausible time in \(expected.rawValue), but one in \(likely.rawValue)"
        }
    }
}

extension ForeignTime {
    /// Returns the time of a field in µs since 1970. Numbers may have a fraction and may be texts. A text with a date and
    /// time in ISO 8601 is read whatever the unit.
    static func microseconds(_ value: JSONValue?, in unit: TimeUnit) throws(TimeProblem) -> Int64 {
        guard let value, value != .null else { throw .missing }
        let number: Double
        let time: Int64?
        if let whole = value.readableInteger {
            (number, time) = (Double(whole), unit.microseconds(whole))
        } else if let real = value.readableNumber {
            (number, time) = (real, unit.microseconds(real))
        } else {
            guard let text = value.string, text.utf8.count <= 64, let date = Timestamp(text) else {
                throw .unreadable(value.excerpt)
            }
            return date.microseconds
        }
        let isPlausible = time.map(TimeUnit.plausibleTimes.contains) ?? false
        if !isPlausible, let likely = TimeUnit.plausible(number) {
            throw .otherUnit(value.excerpt, expected: unit, likely: likely)
        }
        guard let time else {
            if unit == .iso { throw .unreadable(value.excerpt) }
            throw .outOfRange(value.excerpt, unit)
        }
        return time
    }
}
