extension SensorStream {
    /// What stands for many values of a column over a span of time.
    public enum Aggregate: Sendable, Hashable {
        /// The arithmetic mean of those that are known.
        case mean
        /// The mean of longitudes, which go on at −180° after 180°: of places that lie close together.
        case meanLongitude
        /// The sum of those that are known: of amounts, each of an interval of its own.
        case sum
        /// Nothing: of words, of times, and of angles, which begin again after a full turn.
        case none
    }

    /// The columns of rows that stand for the samples of a span of time each: those that have an aggregate, and
    /// `samples`, the number of samples.
    public var aggregateColumns: [Column] {
        columns.filter { $0.aggregate != .none } + [
            Column(name: "samples", kind: .integer, unit: "", isRequired: true, summary: "Samples in the span")
        ]
    }
}
