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

    /// Converts a number from a SenML unit (RFC 8428, section 12.1, and RFC 8798) to the unit of a column.
    /// - Returns: nil if there is no conversion.
    static func convert(_ number: Double, from unit: String?, to target: String) -> Double? {
        guard let unit, unit != target else { return number }
        switch (unit, target) {
        case ("Pa", "hPa"): return number / 100
        case ("kPa", "hPa"): return number * 10
        case ("m/s2", "g"): return number / 9.80665
        case ("rad", "°"): return number * 180 / .pi
        case ("lat", "°"), ("lon", "°"), ("deg", "°"), ("Cel", "°C"), ("/", ""), ("count", ""), ("1", ""):
            return number
        case ("T", "µT"): return number * 1_000_000
        case ("uT", "µT"): return number
        case ("K", "°C"), ("K", "Cel"): return number - 273.15
        case ("km/h", "m/s"): return number / 3.6
        case ("%EL", ""), ("%", ""): return number / 100
        case ("/", "%"): return number * 100
        case ("%RH", "%"), ("%EL", "%"): return number
        case ("km", "m"): return number * 1000
        case ("mm", "m"): return number / 1000
        default: return nil
        }
    }
}
