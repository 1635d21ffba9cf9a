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
