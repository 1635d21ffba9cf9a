public import LockstepModel

/// Parses the unit of times that are numbers.
public func parseTimeUnit(_ text: String) throws -> TimeUnit {
    guard let unit = TimeUnit(rawValue: text), unit != .iso else {
        throw CommandFailure("'\(text)' is no unit of times: use s, ms, us or ns")
    }
    return unit
}
