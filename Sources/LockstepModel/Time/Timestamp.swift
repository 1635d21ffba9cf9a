import Glibc

/// A point in time, in whole microseconds since 1970-01-01 00:00 UTC.
///
/// In JSON, a timestamp is a number. A JavaScript number represents it exactly until the year 2255.
public struct Timestamp: Hashable, Comparable, Sendable, Codable {
    /// The time in µs since 1970-01-01 00:00 UTC.
    public var microseconds: Int64

    /// Creates a timestamp from µs since 1970.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Decodes a whole number of µs since 1970.
    public init(from decoder: any Decoder) throws {
        microseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Encodes the time as a whole number of µs since 1970.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(microseconds)
    }

    /// Returns whether `left` is earlier than `right`.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// Returns the time `interval` µs after `time`.
    public static func + (time: Timestamp, interval: Int64) -> Timestamp {
        Timestamp(microseconds: time.microseconds + interval)
    }

    /// Returns the time `interval` µs before `time`.
    public static func - (time: Timestamp, interval: Int64) -> Timestamp {
        Timestamp(microseconds: time.microseconds - interval)
    }

    /// Returns the interval from `earlier` to `later`, in µs.
    public static func - (later: Timestamp, earlier: Timestamp) -> Int64 { later.microseconds - earlier.microseconds }
}

extension Timestamp: CustomStringConvertible {
    /// The time as ISO 8601 in UTC with microseconds: `2026-11-21T09:30:00.000000Z`.
    public var description: String {
        let day = microseconds.flooredDivision(by: 86_400_000_000)
        let (year, month, dayOfMonth) = civilDate(daysSince1970: day.quotient)
        let seconds = day.remainder / 1_000_000
        return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(dayOfMonth, 2) + "T"
            + padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" + padded(seconds % 60, 2)
            + "." + padded(day.remainder % 1_000_000, 6) + "Z"
    }
}

extension Timestamp {
    /// Parses a whole number of µs since 1970, or an ISO 8601 date or date with time. Seconds, fraction and time zone
    /// (`Z`, `±hh:mm`, `±hhmm` or `±hh`) are optional; without a time zone the time is UTC. The fraction follows a point
    /// or a comma, and is truncated to microseconds. A leap second, `23:59:60` in UTC, is the last microsecond of its day,
    /// so that the order of times stays. The basic format `20261125T030000Z` needs a time.
    /// Returns nil for any other text.
    /// - Parameter offset: returns the offset from UTC in µs of a time without a zone, which it receives as if it were UTC.
    public init?(_ text: String, offset: (Timestamp) -> Int64 = { _ in 0 }) {
        if let microseconds = Int64(text) {
            self.init(microseconds: microseconds)
            return
        }
        var reader = ISOReader(text)
        guard let time = reader.read(offset: offset) else { return nil }
        self = time
    }
}

/// A parser for ISO 8601 dates and times.
private struct ISOReader {
    private var rest: Substring.UTF8View
    private var isLeapSecond = false

    init(_ text: String) { rest = Substring(text).utf8 }

    mutating func read(offset: (Timestamp) -> Int64) -> Timestamp? {
        guard let time = dateAndTime(offset: offset) else { return nil }
        let end: Int64 = 86_399_999_999
        return isLeapSecond && time.microseconds.flooredDivision(by: end + 1).remainder != end ? nil : time
    }

    private mutating func dateAndTime(offset: (Timestamp) -> Int64) -> Timestamp? {
        guard let year = digits(4) else { return nil }
        let isExtended = skip("-")
        guard let month = digits(2), skip("-") == isExtended, let day = digits(2), (1...12).contains(month), day >= 1,
            day <= daysIn(month: month, year: year)
        else { return nil }
        var microseconds = daysSince1970(year: year, month: month, day: day) * 86_400_000_000
        if skip("T") || skip("t") || (isExtended && skip(" ")) {
            guard let time = timeOfDay(isExtended: isExtended) else { return nil }
            microseconds += time
            if !rest.isEmpty {
                guard let zone = zoneOffset(), rest.isEmpty else { return nil }
                return Timestamp(microseconds: microseconds - zone)
            }
        }
        guard rest.isEmpty else { return nil }
        return Timestamp(microseconds: microseconds - offset(Timestamp(microseconds: microseconds)))
    }

    /// Returns the time since midnight, in µs.
    private mutating func timeOfDay(isExtended: Bool) -> Int64? {
        guard let hour = digits(2), skip(":") == isExtended, let minute = digits(2), hour < 24, minute < 60
        else { return nil }
        var microseconds = (hour * 60 + minute) * 60_000_000
        guard isExtended ? skip(":") : rest.first.map(isDigit) ?? false else { return microseconds }
        guard let second = digits(2), second <= 60 else { return nil }
        isLeapSecond = second == 60
        microseconds += isLeapSecond ? 59_999_999 : second * 1_000_000
        guard skip(".") || skip(",") else { return microseconds }
        var unit: Int64 = 100_000
        guard let first = rest.first, isDigit(first) else { return nil }
        while let byte = rest.first, isDigit(byte) {
            if !isLeapSecond { microseconds += Int64(byte - UInt8(ascii: "0")) * unit }
            unit /= 10
            rest = rest.dropFirst()
        }
        return microseconds
    }

    /// Returns the offset from UTC, in µs.
    private mutating func zoneOffset() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let sign: Int64 = skip("+") ? 1 : skip("-") ? -1 : 0
        guard sign != 0, let hours = digits(2), hours < 24 else { return nil }
        if rest.isEmpty { return sign * hours * 3_600_000_000 }
        _ = skip(":")
        guard let minutes = digits(2), minutes < 60 else { return nil }
        return sign * (hours * 60 + minutes) * 60_000_000
    }

    private mutating func digits(_ count: Int) -> Int64? {
        let part = rest.prefix(count)
        guard part.count == count, part.allSatisfy(isDigit) else { return nil }
        rest = rest.dropFirst(count)
        return part.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

// Civil dates are computed in 400-year cycles from 1 March of year 0. A year that starts in March ends with the leap
// day, which avoids special cases (H. Hinnant, chrono-Compatible Low-Level Date Algorithms,
// https://howardhinnant.github.io/date_algorithms.html).

private func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let cycle = shiftedYear.flooredDivision(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfCycle = cycle.remainder * 365 + cycle.remainder / 4 - cycle.remainder / 100 + dayOfYear
    return cycle.quotient * 146_097 + dayOfCycle - 719_468
}

private func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let cycle = (days + 719_468).flooredDivision(by: 146_097)
    let day = cycle.remainder
    let yearOfCycle = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let dayOfYear = day - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = cycle.quotient * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
}

private func daysIn(month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
}

private func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension Timestamp {
    /// The offset of the local time zone from UTC at this time, in µs. `TZ` sets the zone of the process.
    public var localOffset: Int64 {
        tzset()
        // The C library's years are 32-bit numbers.
        var seconds = time_t(max(-1 << 45, min(1 << 45, microseconds / 1_000_000)))
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : Int64(parts.tm_gmtoff) * 1_000_000
    }

    /// Returns the time for a person who reads it soon: `10:30:05`, or on another day `2026-11-20 10:30:05`.
    /// - Parameters:
    ///   - now: the time of reading.
    ///   - offset: returns the offset of the reader's zone at a time, in µs.
    public func short(at now: Timestamp, offset: (Timestamp) -> Int64 = { $0.localOffset }) -> String {
        func text(_ time: Timestamp) -> Substring {
            let (shifted, overflow) = time.microseconds.addingReportingOverflow(offset(time))
            return (overflow ? time : Timestamp(microseconds: shifted)).description.dropLast(8)
        }
        let (own, today) = (text(self), text(now))
        return own.dropLast(9) == today.dropLast(9)
            ? String(own.suffix(8)) : "\(own.dropLast(9)) \(own.suffix(8))"
    }
}

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
