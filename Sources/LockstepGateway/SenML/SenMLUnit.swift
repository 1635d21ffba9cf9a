/// A unit of SenML or of a column, as a multiple of the unit of its quantity.
///
/// The units are those of the registries of SenML: primary ones (RFC 8428, section 12.1) and secondary ones (RFC 8798, section
/// 3), and those of columns.
struct SenMLUnit {
    /// The quantity, by its primary unit.
    private let quantity: String
    /// The factor is a fraction of whole numbers, so that 57 `/100` are exactly 57 %.
    private let numerator: Double
    private let denominator: Double
    /// The value of 0 in the primary unit.
    private let offset: Double

    private init(_ quantity: String, _ numerator: Double = 1, per denominator: Double = 1, offset: Double = 0) {
        self.quantity = quantity
        self.numerator = numerator
        self.denominator = denominator
        self.offset = offset
    }

    /// Converts a number.
    /// - Parameter unit: the unit of the number, or nil if it is that of the column.
    /// - Returns: nil if there is no conversion.
    static func convert(_ number: Double, from unit: String?, to target: String) -> Double? {
        guard let unit, unit != target else { return number }
        // A column without a unit has ratios, counts and switches.
        if target.isEmpty, unit == "count" || unit == "1" { return number }
        // In a pack, 'g' are grams.
        guard unit != "g", unit != "", let from = all[unit], let to = all[target], from.quantity == to.quantity else {
            return nil
        }
        let numerator = from.numerator * to.denominator
        let denominator = from.denominator * to.numerator
        let offset = (from.offset - to.offset) * to.denominator / to.numerator
        if numerator.truncatingRemainder(dividingBy: denominator) == 0 {
            return number * (numerator / denominator) + offset
        }
        if denominator.truncatingRemainder(dividingBy: numerator) == 0 {
            return number / (denominator / numerator) + offset
        }
        return number * numerator / denominator + offset
    }

    private static let all: [String: SenMLUnit] = [
        // Ratios. `%RH` and `%EL` are ratios of what only the name of the column tells.
        "/": Self("/"), "": Self("/"), "%": Self("/", per: 100), "%RH": Self("/", per: 100), "%EL": Self("/", per: 100),
        "/100": Self("/", per: 100), "/1000": Self("/", per: 1000), "ppm": Self("/", per: 1e6),
        "ppb": Self("/", per: 1e9), "ppt": Self("/", per: 1e12),
        // Angles and positions.
        "rad": Self("rad"), "°": Self("rad", .pi, per: 180), "deg": Self("rad", .pi, per: 180),
        "lat": Self("rad", .pi, per: 180), "lon": Self("rad", .pi, per: 180),
        // Length, speed, acceleration.
        "m": Self("m"), "mm": Self("m", per: 1000), "cm": Self("m", per: 100), "km": Self("m", 1000),
        "m/s": Self("m/s"), "km/h": Self("m/s", 1000, per: 3600), "m/h": Self("m/s", per: 3600),
        "mm/h": Self("m/s", per: 3.6e6), "m/s2": Self("m/s2"), "g": Self("m/s2", 980_665, per: 100_000),
        // Pressure, temperature, magnetic field.
        "Pa": Self("Pa"), "hPa": Self("Pa", 100), "kPa": Self("Pa", 1000), "K": Self("K"),
        "Cel": Self("K", offset: 273.15), "°C": Self("K", offset: 273.15), "T": Self("T"), "uT": Self("T", per: 1e6),
        "µT": Self("T", per: 1e6),
        // Time, frequency.
        "s": Self("s"), "ms": Self("s", per: 1000), "min": Self("s", 60), "h": Self("s", 3600), "Hz": Self("Hz"),
        "MHz": Self("Hz", 1e6),
        // Electricity.
        "W": Self("W"), "kW": Self("W", 1000), "VA": Self("VA"), "kVA": Self("VA", 1000), "var": Self("var"),
        "kvar": Self("var", 1000), "C": Self("C"), "Ah": Self("C", 3600), "J": Self("J"), "Wh": Self("J", 3600),
        "kWh": Self("J", 3.6e6), "VAs": Self("VAs"), "VAh": Self("VAs", 3600), "kVAh": Self("VAs", 3.6e6),
        "vars": Self("vars"), "varh": Self("vars", 3600), "kvarh": Self("vars", 3.6e6), "V": Self("V"),
        "mV": Self("V", per: 1000), "A": Self("A"), "mA": Self("A", per: 1000), "J/m": Self("J/m"),
        "Wh/km": Self("J/m", 3600, per: 1000), "dBW": Self("dBW"), "dBm": Self("dBW", offset: -30),
        // Data.
        "B": Self("B"), "KiB": Self("B", 1024), "GB": Self("B", 1e9), "bit/s": Self("bit/s"),
        "Mbit/s": Self("bit/s", 1e6), "B/s": Self("bit/s", 8), "MB/s": Self("bit/s", 8e6),
        // Density.
        "kg/m3": Self("kg/m3"), "ug/m3": Self("kg/m3", per: 1e9), "g/l": Self("kg/m3"),
        "mg/l": Self("kg/m3", per: 1000), "ug/l": Self("kg/m3", per: 1e6),
    ]
}

/// The column for a SenML measurement.
public struct SenMLTarget: Sendable, Hashable {
    /// The name of the stream.
    public let stream: String
    /// The name of the column.
    public let column: String

    /// Parses `STREAM.COLUMN`, such as `x/room.temperature`.
    /// - Returns: nil if the text has no dot or an empty part.
    public init?(_ text: String) {
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex, text.index(after: dot) != text.endIndex else {
            return nil
        }
        stream = String(text[..<dot])
        column = String(text[text.index(after: dot)...])
    }

    init(_ stream: String, _ column: String) {
        self.stream = stream
        self.column = column
    }

    /// The columns of common names.
    public static let standard: [String: SenMLTarget] = [
        "lat": SenMLTarget("location", "lat"), "latitude": SenMLTarget("location", "lat"),
        "lon": SenMLTarget("location", "lon"), "longitude": SenMLTarget("location", "lon"),
        "alt": SenMLTarget("location", "alt"), "altitude": SenMLTarget("location", "alt"),
        "pressure": SenMLTarget("pressure", "pressure"), "battery": SenMLTarget("battery", "level"),
    ]

    /// The columns of units that tell what is measured, for records whose name has no column.
    static let byUnit: [String: SenMLTarget] = [
        "lat": SenMLTarget("location", "lat"), "lon": SenMLTarget("location", "lon"),
        "%EL": SenMLTarget("battery", "level"), "%RH": SenMLTarget("x/senml/humidity", "value"),
        "Cel": SenMLTarget("x/senml/temperature", "value"),
    ]
}
