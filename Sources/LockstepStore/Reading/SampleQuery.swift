public import LockstepModel
import LockstepSQLite

/// A query of the rows of one stream of one device: samples, the newest sample, or averages.
public struct SampleQuery: Hashable, Sendable {
    /// The device.
    public var device: DeviceAddress
    /// The stream.
    public var stream: SensorStream
    /// The kind of rows.
    public var detail: QueryDetail
    /// The start of the time range (inclusive), or nil for no limit.
    public var from: Timestamp?
    /// The end of the time range (exclusive), or nil for no limit.
    public var to: Timestamp?
    /// The maximum number of rows, or nil for no limit.
    public var limit: Int?

    /// Creates a query.
    public init(
        device: DeviceAddress, stream: SensorStream, detail: QueryDetail = .samples, from: Timestamp? = nil,
        to: Timestamp? = nil, limit: Int? = nil
    ) {
        self.device = device
        self.stream = stream
        self.detail = detail
        self.from = from
        self.to = to
        self.limit = limit
    }

    /// The columns of the values that the query returns.
    public var columns: [SensorStream.Column] { detail.columns(of: stream) }

    package var times: Range<Int64> {
        let start = from?.microseconds ?? .min
        return start..<max(start, to?.microseconds ?? .max)
    }
}

extension StoreReader {
    /// Calls `each` for every row of a query, in order of time. Memory use does not grow with the result.
    /// - Parameters:
    ///   - query: the query. A device or stream that is not stored has no rows.
    ///   - cancellation: ends the query early.
    ///   - each: receives the time and the values in the order of ``SampleQuery/columns``. NaN stands for null. An error
    ///     that it throws ends the query. It must not start another cancellable query of this reader.
    /// - Returns: whether there are more rows than the limit.
    /// - Throws: ``StoreError``, or the error of `each`.
    @discardableResult
    public func run(
        _ query: SampleQuery, cancellation: QueryCancellation? = nil, each: (Timestamp, [Double]) throws -> Void
    ) throws -> Bool {
        let cursor = try converting { () throws -> (any QueryCursor)? in
            try check(cancellation)
            guard let device = try id(of: query.device),
                let cursor = try query.detail.cursor(of: query.stream, query.times, in: self)
            else { return nil }
            try database.interruptible(by: cancellation?.interruption) { try cursor.start(device: device) }
            return cursor
        }
        guard let cursor else { return false }
        defer { cursor.reset() }
        var remainingRows = query.limit ?? .max
        while true {
            let row = try converting {
                try check(cancellation)
                return try database.interruptible(by: cancellation?.interruption) { try cursor.next() }
            }
            guard let row else { return false }
            guard remainingRows > 0 else { return true }
            remainingRows -= 1
            try each(row.time, row.values)
        }
    }

    /// Runs `body` and converts its errors to ``StoreError``, without a transaction: during a long query, it would prevent
    /// checkpoints and let the write-ahead log grow.
    private func converting<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }
}
