import LockstepModel

/// The SenML form of a column: its name, and its unit as in the registry of RFC 8428 and RFC 8798.
struct SenMLColumn {
    /// `TABLE.COLUMN`, which the gateway reads again.
    let name: String
    /// The unit, or nil if SenML has none for the column.
    let unit: String?
    /// The factor from the unit of the column to this unit.
    let factor: Double
    /// The words of a column of kind `choice`.
    let words: [String]?

    init(_ column: SensorStream.Column, of stream: SensorStream) {
        name = stream.table + "." + column.name
        words = if case .choice(let words) = column.kind { words } else { nil }
        (unit, factor) = Self.conversion(column, stream)
    }

    private static let registered: Set<String> = [
        "m", "kg", "s", "A", "K", "cd", "mol", "Hz", "rad", "sr", "N", "Pa", "J", "W", "C", "V", "F", "Ohm", "S", "Wb",
        "T", "H", "Cel", "lm", "lx", "Bq", "Gy", "Sv", "kat", "m2", "m3", "m/s", "m/s2", "m3/s", "W/m2", "cd/m2", "bit",
        "bit/s", "pH", "dB", "dBW", "count", "/", "%", "%RH", "%EL", "EL", "1/s", "1/min", "S/m", "ms", "min", "h",
        "hPa", "mm", "cm", "km", "km/h", "mV", "mA", "ppm", "dBm",
    ]

    private static func conversion(_ column: SensorStream.Column, _ stream: SensorStream) -> (String?, Double) {
        switch (column.unit, column.name) {
        case ("°", "lat"): ("lat", 1)
        case ("°", "lon"): ("lon", 1)
        case ("°", _): ("rad", .pi / 180)
        // In SenML, g is the gram.
        case ("g", _): ("m/s2", 9.80665)
        case ("µT", _): ("T", 1e-6)
        case ("°C", _): ("Cel", 1)
        case ("", _): (stream == .battery && column.name == "level" ? "/" : nil, 1)
        case (let unit, _): (registered.contains(unit) ? unit : nil, 1)
        }
    }
}
