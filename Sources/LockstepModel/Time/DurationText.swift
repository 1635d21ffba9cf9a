/// Parses a duration: a number with a unit (`250ms`, `30s`, `5m`, `2h`, `7d`), or a number of seconds.
/// - Returns: the duration in µs, or nil for any other text.
package func duration(of text: some StringProtocol) -> Int64? {
    let number = text.prefix { ("0"..."9").contains($0) || $0 == "." }
    let units: [String: Double] = ["ms": 1e3, "": 1e6, "s": 1e6, "m": 60e6, "h": 3600e6, "d": 86_400e6]
    guard let value = Double(number), let unit = units[String(text.dropFirst(number.count))], value * unit < 1e17 else {
        return nil
    }
    return Int64(value * unit)
}
