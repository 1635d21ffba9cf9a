extension SensorStream {
    /// The function that combines the values of a column over a time span.
    public enum Aggregate: String, Sendable, Hashable, CaseIterable {
        /// The arithmetic mean of the known values.
        case mean
        /// The mean of longitudes in degrees, correct across the 180th meridian for positions close to each other.
        case meanLongitude = "mean-longitude"
        /// The sum of the known values. For amounts per interval, such as steps. The intervals must not overlap.
        case sum
        /// No aggregate. For words, times and angles. The mean of the angles 359° and 1° would be 180° instead of 0°.
        case none
    }

    /// The columns of aggregated rows: every column with an aggregate, and `samples`, the number of samples in the time
    /// span.
    public var aggregateColumns: [Column] {
        columns.filter { $0.aggregate != .none } + [
            Column(name: "samples", kind: .integer, unit: "", isRequired: true, summary: "Samples in the span")
        ]
    }
}
