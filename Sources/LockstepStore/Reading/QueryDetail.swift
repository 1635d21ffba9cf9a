public import LockstepModel

/// The kind of rows that a query returns for each device.
public enum QueryDetail: Hashable, Sendable {
    /// All samples.
    case samples
    /// Only the newest sample.
    case last
    /// One row of aggregates for each time span with samples. The time of the row is the start of the span.
    ///
    /// `span` is the length of each span in µs and must be greater than 0. Spans are aligned to 1970-01-01 UTC.
    case averages(span: Int64)

    /// Returns the columns of the rows.
    public func columns(of stream: SensorStream) -> [SensorStream.Column] {
        switch self {
        case .samples, .last: stream.columns
        case .averages: stream.aggregateColumns
        }
    }
}
