import Glibc
public import LockstepModel

/// Parses a whole number within bounds.
/// - Throws: ``CommandFailure`` for any other text.
public func wholeNumber(_ text: String, in range: ClosedRange<Int>) throws -> Int {
    guard let number = Int(text), range.contains(number) else {
        throw CommandFailure("'\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
}

/// Parses a duration: a number with a unit (`250ms`, `30s`, `5m`, `2h`, `7d`), or a number of seconds.
/// - Returns: the duration in µs.
/// - Throws: ``CommandFailure`` for any other text.
public func parseDuration(_ text: String) throws -> Int64 {
    guard let microseconds = duration(of: text) else {
        throw CommandFailure("'\(text)' is not a duration: use 250ms, 30s, 5m, 2h or 7d")
    }
    return microseconds
}

/// Parses a size in bytes: a number, optionally with `K`, `M` or `G` (powers of 1024).
/// - Throws: ``CommandFailure`` for any other text.
public func byteCount(_ text: String) throws -> Int {
    let number = text.prefix(while: \.isNumber)
    let units = ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    guard let value = Int(number), let unit = units[text.dropFirst(number.count).uppercased()],
        value < 1 << 50 / unit
    else {
        throw CommandFailure("'\(text)' is not a size in bytes: use 65536, 64K, 256M or 1G")
    }
    return value * unit
}

/// Parses an angle in degrees, from -180 to 180.
/// - Returns: the angle in rad.
/// - Throws: ``CommandFailure`` for any other text.
public func degrees(_ text: String) throws -> Double {
    guard let value = Double(text), (-180...180).contains(value) else {
        throw CommandFailure("'\(text)' is not an angle: use degrees from -180 to 180")
    }
    return value * .pi / 180
}

/// Parses an enumeration case by its raw value.
/// - Throws: ``CommandFailure`` for any other text; it lists the valid values.
public func choice<Choice: RawRepresentable & CaseIterable>(_ text: String, of type: Choice.Type) throws -> Choice
where Choice.RawValue == String {
    guard let choice = Choice(rawValue: text) else {
        throw CommandFailure("'\(text)' is not one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
}

/// Parses a length in m within bounds.
/// - Throws: ``CommandFailure`` for any other text.
public func metres(_ text: String, in range: ClosedRange<Double>) throws -> Double {
    guard let value = Double(text), range.contains(value) else {
        throw CommandFailure("'\(text)' is not a length from \(range.lowerBound) to \(range.upperBound) m")
    }
    return value
}

/// Parses a Boolean setting.
public func boolean(_ text: String) throws -> Bool {
    switch text {
    case "true", "yes", "1": return true
    case "false", "no", "0": return false
    default: throw CommandFailure("'\(text)' is not a Boolean: use true or false")
    }
}

/// Parses the unit of times that are numbers.
public func parseTimeUnit(_ text: String) throws -> TimeUnit {
    guard let unit = TimeUnit(rawValue: text), unit != .iso else {
        throw CommandFailure("'\(text)' is no unit of times: use s, ms, us or ns")
    }
    return unit
}

/// Returns the current time in ISO 8601, to the millisecond.
func wallClockTime() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    return Timestamp(microseconds: microseconds).iso8601Milliseconds
}
