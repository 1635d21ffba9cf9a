/// The form of real numbers in a log: a number with up to six decimals is stored as an integer, in millionths.
///
/// SQLite stores a small integer in one to four bytes and a real number in eight, and measured values rarely have more
/// decimals.
enum LogDecimal {
    private static let scale = 1e6
    /// The scale in SQL: a division by it restores the number.
    static let scaleSQL = "1e6"

    /// Returns `value` in millionths, or nil if that would not restore it exactly.
    ///
    /// An integer below 2⁵³ and the scale are exact, and so the quotient is rounded correctly.
    static func millionths(_ value: Double) -> Int64? {
        let scaled = (value * scale).rounded()
        guard scaled.magnitude < 0x1p31, scaled / scale == value, !(scaled == 0 && value.sign == .minus) else {
            return nil
        }
        return Int64(scaled)
    }

    /// Returns the number that is stored as `millionths`.
    static func value(_ millionths: Int64) -> Double { Double(millionths) / scale }
}
