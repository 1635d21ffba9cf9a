/// Values as whole numbers of a decimal fraction.
enum Decimals {
    /// 10⁰, 10¹, …: up to 10²² they are exact, so that a whole number divided by one is the double nearest to the
    /// fraction, the one that its digits would be read as.
    static let powers: [Double] = SeriesPacker.decimals.map { (0..<$0).reduce(1.0) { power, _ in power * 10 } }

    /// Magnitudes below are rounded to whole numbers by adding and subtracting ``rounding``.
    private static let limit = 0x1p51
    private static let rounding = 0x1.8p52

    /// Puts `values` into `numbers`, multiplied by ten as often as they all become whole numbers.
    /// - Returns: how often; nil where they do not, where one is negative zero or not known, or where one is too large.
    static func scale(_ values: [Double], into numbers: inout [Int64]) -> Int? {
        var decimals = 0
        // Mostly the first value has as many as any, so that the others are looked at once.
        repeat {
            guard let failed = scale(values, decimals, into: &numbers) else { return decimals }
            guard let needed = self.decimals(of: values[failed], from: decimals + 1) else { return nil }
            decimals = needed
        } while true
    }

    /// - Returns: the first value of which no whole number became.
    private static func scale(_ values: [Double], _ decimals: Int, into numbers: inout [Int64]) -> Int? {
        numbers.removeAll(keepingCapacity: true)
        numbers.reserveCapacity(values.count)
        let power = powers[decimals]
        for index in values.indices {
            guard let number = number(values[index], by: power) else { return index }
            numbers.append(number)
        }
        return nil
    }

    private static func decimals(of value: Double, from first: Int) -> Int? {
        (first..<powers.count).first { number(value, by: powers[$0]) != nil }
    }

    @inline(__always)
    private static func number(_ value: Double, by power: Double) -> Int64? {
        let scaled = value * power
        guard abs(scaled) < limit else { return nil }
        let number = Int64((scaled + rounding) - rounding)
        // By its bits: a negative zero is none of the whole numbers.
        return (Double(number) / power).bitPattern == value.bitPattern ? number : nil
    }
}
