import LockstepModel

/// Reads the members of an object of a foreign message. A member that cannot be read is unknown, and noted as left out; a
/// missing member and `null` are only unknown.
struct FieldReader {
    private let object: JSONValue
    /// What the object is, for log entries, such as "the location".
    private let subject: String
    /// The members that were left out.
    private(set) var omissions: [String] = []

    init(_ object: JSONValue, _ subject: String) {
        self.object = object
        self.subject = subject
    }

    /// Returns a number, or nil if it is unknown or out of range.
    mutating func number(_ name: String, in range: ClosedRange<Double>? = nil) -> Double? {
        guard let value = object[name], value != .null else { return nil }
        guard let number = value.readableNumber else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is no number")
            return nil
        }
        guard range?.contains(number) ?? true else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is out of range")
            return nil
        }
        return number
    }

    /// Returns a number of which negative values mean that it is unknown.
    mutating func notNegative(_ name: String, atMost limit: Double = .infinity) -> Double? {
        if let number = object[name]?.readableNumber, number < 0 { return nil }
        return number(name, in: 0...limit)
    }

    /// Returns a time in µs since 1970, or nil if it is unknown.
    mutating func time(_ name: String, in unit: TimeUnit) -> Int64? {
        do { return try unit.microseconds(of: object[name]) } catch {
            if error != .missing { omissions.append(error.text("'\(name)' of \(subject)")) }
            return nil
        }
    }

    /// Returns a text that has one of some values, or nil if it is unknown.
    mutating func word(_ name: String, of words: [String: String]) -> String? {
        guard let value = object[name], value != .null else { return nil }
        guard let word = value.string.flatMap({ words[$0] ?? words[$0.lowercased()] }) else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is unknown")
            return nil
        }
        return word
    }
}
