/// Conversion of decimal fractions to scaled integers.
enum Decimals {
    /// The powers 10⁰, 10¹, …. They are exact up to 10²². An integer divided by one of them is therefore the double
    /// nearest to the decimal fraction: the same value that parsing its digits would give.
    static let powers: [Double] = SeriesPacker.decimals.map { (0..<$0).reduce(1.0) { power, _ in power * 10 } }

    /// Adding and subtracting ``rounding`` rounds values below this magnitude to whole numbers.
    private static let limit = 0x1p51
    private static let rounding = 0x1.8p52

    /// Scales `values` by the smallest power of ten that makes all of them whole numbers, and stores these in `numbers`.
    /// - Returns: the exponent of that power, or nil if there is none: a value is not a decimal fraction of at most 15
    ///   decimals, is negative zero, is unknown, or is too large.
    static func scale(_ values: [Double], into numbers: inout [Int64]) -> Int? {
        var decimals = 0
        // The first value usually has as many decimals as any other, so one pass over the values is usually enough.
        repeat {
            guard let failed = scale(values, decimals, into: &numbers) else { return decimals }
            guard let needed = self.decimals(of: values[failed], from: decimals + 1) else { return nil }
            decimals = needed
        } while true
    }

    /// - Returns: the index of the first value that is not a whole number after scaling, or nil if all are.
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
        // Compare bit patterns: negative zero has no integer form.
        return (Double(number) / power).bitPattern == value.bitPattern ? number : nil
    }
}
