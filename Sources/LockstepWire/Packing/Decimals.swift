/// Conversion of decimal fractions to scaled integers.
enum Decimals {
    /// The powers 10⁰, 10¹, … 10¹⁵, which are exact as doubles. The quotient of an exact integer and such a power is
    /// therefore correctly rounded: it is the same double that parsing the decimal fraction gives.
    static let powers: [Double] = SeriesPacker.decimals.map { (0..<$0).reduce(1.0) { power, _ in power * 10 } }

    /// The exclusive upper limit of the magnitude of values that ``rounding`` can round.
    private static let limit = 0x1p51
    /// Adding and then subtracting this constant rounds a value to a whole number.
    private static let rounding = 0x1.8p52

    /// Scales `values` by the smallest power of ten that makes all of them whole numbers, and stores these in `numbers`.
    /// - Returns: the exponent of that power, or nil if a value has more than 15 decimals, is negative zero or NaN, or
    ///   is too large.
    static func scale(_ values: [Double], into numbers: inout [Int64]) -> Int? {
        var decimals = 0
        // The first attempt usually fails at the first value, and the decimals of that value are usually enough for
        // all.
        repeat {
            guard let firstFailure = scale(values, decimals, into: &numbers) else { return decimals }
            guard let needed = self.decimals(of: values[firstFailure], from: decimals + 1) else { return nil }
            decimals = needed
        } while true
    }

    /// Scales `values` by 10 to the power of `decimals`.
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

    /// Returns the smallest number of decimals, starting at `first`, with which `value` becomes a whole number, or nil.
    private static func decimals(of value: Double, from first: Int) -> Int? {
        (first..<powers.count).first { number(value, by: powers[$0]) != nil }
    }

    /// Returns `value` multiplied by `power`, or nil if dividing the result by `power` does not give exactly `value`.
    @inline(__always)
    private static func number(_ value: Double, by power: Double) -> Int64? {
        let scaled = value * power
        guard abs(scaled) < limit else { return nil }
        let number = Int64((scaled + rounding) - rounding)
        // Compare bit patterns: negative zero has no integer form.
        return (Double(number) / power).bitPattern == value.bitPattern ? number : nil
    }
}
