/// Returns a value as text with a fixed number of decimals.
///
/// It is implemented here because `String(format:)` needs all of Foundation.
func fixed(_ value: Double, _ decimals: Int) -> String {
    guard abs(value) < 1e12 else { return "\(value)" }
    let scale = (0..<decimals).reduce(Int64(1)) { product, _ in product * 10 }
    let whole = Int64((abs(value) * Double(scale)).rounded())
    let sign = value < 0 && whole > 0 ? "-" : ""
    guard decimals > 0 else { return "\(sign)\(whole)" }
    let digits = String(whole % scale)
    return "\(sign)\(whole / scale)." + String(repeating: "0", count: decimals - digits.count) + digits
}

/// Returns a value as a person wants to read it, without the noise of its representation: the shortest decimal number of a value
/// that is stored in single precision, and otherwise at most seven decimals, enough for a position to 1 cm.
func number(_ value: Double) -> String {
    let single = Float(value)
    if Double(single) == value { return "\(single)" }
    return abs(value) < 1e8 ? "\((value * 1e7).rounded() / 1e7)" : "\(value)"
}
