extension SensorStream.Column {
    /// Whether the values are times, in µs since 1970. Human-readable output shows them as ISO 8601.
    public var isTime: Bool { kind == .integer && unit == "µs since 1970" }
}
