/// Reads a whole number within bounds.
/// - Throws: ``CommandFailure``
public func wholeNumber(_ text: String, in range: ClosedRange<Int>) throws -> Int {
    guard let number = Int(text), range.contains(number) else {
        throw CommandFailure("'\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
}

/// Reads a span of time as µs: a number with a unit (`250ms`, `30s`, `5m`, `2h`, `7d`), or of seconds without one.
/// - Throws: ``CommandFailure``
public func span(_ text: String) throws -> Int64 {
    let number = text.prefix { $0.isNumber || $0 == "." }
    let units: [String: Double] = ["ms": 1e3, "": 1e6, "s": 1e6, "m": 60e6, "h": 3600e6, "d": 86_400e6]
    guard let value = Double(number), let unit = units[String(text.dropFirst(number.count))], value * unit < 1e17 else {
        throw CommandFailure("'\(text)' is no span of time: write 250ms, 30s, 5m, 2h or 7d")
    }
    return Int64(value * unit)
}

/// Reads an amount of bytes: a number, or one with `K`, `M` or `G` (of 1024).
/// - Throws: ``CommandFailure``
public func byteCount(_ text: String) throws -> Int {
    let number = text.prefix(while: \.isNumber)
    let units = ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    guard let value = Int(number), let unit = units[text.dropFirst(number.count).uppercased()],
        value < 1 << 50 / unit
    else {
        throw CommandFailure("'\(text)' is no amount of bytes: write 65536, 64K, 256M or 1G")
    }
    return value * unit
}

/// Reads where a store is: `sqlite:PATH`.
/// - Throws: ``CommandFailure``
public func sqlitePath(_ text: String) throws -> String {
    guard text.hasPrefix("sqlite:"), text.count > 7 else {
        throw CommandFailure("'\(text)' is no store: write sqlite:PATH")
    }
    return String(text.dropFirst(7))
}

/// Reads an angle in degrees, of -180 to 180.
/// - Returns: rad.
/// - Throws: ``CommandFailure``
public func degrees(_ text: String) throws -> Double {
    guard let value = Double(text), (-180...180).contains(value) else {
        throw CommandFailure("'\(text)' is no angle: write degrees from -180 to 180")
    }
    return value * .pi / 180
}

/// Reads one of the words of a type.
/// - Throws: ``CommandFailure``
public func choice<Choice: RawRepresentable & CaseIterable>(_ text: String, of type: Choice.Type) throws -> Choice
where Choice.RawValue == String {
    guard let choice = Choice(rawValue: text) else {
        throw CommandFailure("'\(text)' is none of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
}

/// Reads a length in m within bounds.
/// - Throws: ``CommandFailure``
public func metres(_ text: String, in range: ClosedRange<Double>) throws -> Double {
    guard let value = Double(text), range.contains(value) else {
        throw CommandFailure("'\(text)' is no length from \(range.lowerBound) to \(range.upperBound) m")
    }
    return value
}
