public import LockstepModel
import LockstepSQLite

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

    /// Returns a cursor for the rows, or nil if the store has no table for the stream yet.
    func cursor(
        of stream: SensorStream, _ times: Range<Int64>, in reader: StoreReader
    ) throws(SQLiteError) -> (any QueryCursor)? {
        switch self {
        case .samples: try SampleCursor(stream, times, newestOnly: false, in: reader)
        case .last: try SampleCursor(stream, times, newestOnly: true, in: reader)
        case .averages(let span): try AverageCursor(stream, times, span: span, in: reader)
        }
    }
}

/// A cursor over the rows of a query, one device at a time.
protocol QueryCursor: AnyObject {
    /// Positions the cursor before the first row of a device.
    func start(device: Int64) throws(SQLiteError)
    /// Returns the next row of the device in order of time, or nil after the last row.
    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])?
    /// Stops reading, which releases the snapshot of the database.
    func reset()
}
