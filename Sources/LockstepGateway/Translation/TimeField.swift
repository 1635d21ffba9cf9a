import LockstepModel

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

extension TimeUnit {
    /// Returns the time of a field in µs since 1970. Numbers may have a fraction and may be texts. A text with a date and
    /// time in ISO 8601 is read whatever the unit.
    func microseconds(of value: JSONValue?) throws(TimeProblem) -> Int64 {
        guard let value, value != .null else { throw .missing }
        let number: Double
        let time: Int64?
        if let whole = value.readableInteger {
            (number, time) = (Double(whole), microseconds(whole))
        } else if let real = value.readableNumber {
            (number, time) = (real, microseconds(real))
        } else {
            guard let text = value.string, text.utf8.count <= 64, let date = Timestamp(text) else {
                throw .unreadable(value.excerpt)
            }
            return date.microseconds
        }
        let isPlausible = time.map(TimeUnit.plausibleTimes.contains) ?? false
        if !isPlausible, let likely = TimeUnit.plausible(number) {
            throw .otherUnit(value.excerpt, expected: self, likely: likely)
        }
        guard let time else {
            if self == .iso { throw .unreadable(value.excerpt) }
            throw .outOfRange(value.excerpt, self)
        }
        return time
    }

    /// Returns a number in µs; nil if there is none, or if it is out of range.
    func microseconds(ofNumber value: JSONValue?) -> Int64? {
        switch value {
        case .integer(let number): microseconds(number)
        case .real(let number): microseconds(number)
        default: nil
        }
    }
}
