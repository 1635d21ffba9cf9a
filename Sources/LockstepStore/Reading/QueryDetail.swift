public import LockstepModel
import LockstepSQLite

/// Which rows a query gives of each device.
public enum QueryDetail: Hashable, Sendable {
    /// Every sample.
    case samples
    /// The newest sample alone.
    case last
    /// One row for each span of so many µs, counted from 1970-01-01 UTC, in which there are samples: means and sums, as
    /// the columns say, with the time at which the span starts. More than 0.
    case averages(span: Int64)

    /// The columns of the rows.
    public func columns(of stream: SensorStream) -> [SensorStream.Column] {
        switch self {
        case .samples, .last: stream.columns
        case .averages: stream.aggregateColumns
        }
    }

    /// What reads the rows; nil if the store has no table of the stream yet.
    func cursor(
        of stream: SensorStream, _ times: Range<Int64>, in database: SQLiteDatabase
    ) throws(SQLiteError) -> (any QueryCursor)? {
        switch self {
        case .samples: try SampleCursor(stream, times, newestOnly: false, in: database)
        case .last: try SampleCursor(stream, times, newestOnly: true, in: database)
        case .averages(let span): try AverageCursor(stream, times, span: span, in: database)
        }
    }
}

/// Reads the rows of one device after the other.
protocol QueryCursor: AnyObject {
    /// Begins with the rows of a device.
    func start(device: Int64) throws(SQLiteError)
    /// The next row of the device by time, or nil after the last.
    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])?
    /// Reads no more, and holds no state of the store any more, until the next start.
    func reset()
}
