import CSQLite

/// The minimum and maximum of columns in time spans of equal length (buckets), computed by the SQL aggregate function
/// `bucket_extremes(t, value, …)` of one connection.
///
/// SQLite calls the function for each row. This takes about half the time of stepping through the rows, and a quarter of
/// `GROUP BY` with `min` and `max`. Rows may come in any order and from several statements. NULL is ignored. Summaries of rows
/// are added by `summary_extremes(t, rows, least, greatest, …)`.
///
/// ```swift
/// let extremes = try BucketExtremes(in: database)
/// extremes.begin(start: 0, width: 60_000_000, count: 60, columns: 2)
/// try database.prepare("SELECT bucket_extremes(t, x, y) FROM sample").run()
/// ```
public final class BucketExtremes {
    /// A strong reference that keeps the connection open, and with it ``state``, which SQLite frees.
    private let database: SQLiteDatabase
    private let state: UnsafeMutablePointer<BucketState>

    /// Adds the function to a connection. Create at most one object for each connection.
    public init(in database: SQLiteDatabase) throws(SQLiteError) {
        self.database = database
        state = .allocate(capacity: 1)
        state.initialize(to: BucketState())
        let code = sqlite3_create_function_v2(
            database.connection, "bucket_extremes", -1, SQLITE_UTF8, state, nil, addRow, { _ in }, destroyState)
        guard code == SQLITE_OK else {
            // SQLite has already freed the state.
            throw SQLiteError(database.connection, code: code, sql: "bucket_extremes")
        }
        // It ends with the connection, too, which frees the state once.
        let summaryCode = sqlite3_create_function_v2(
            database.connection, "summary_extremes", -1, SQLITE_UTF8, state, nil, addSummary, { _ in }, nil)
        guard summaryCode == SQLITE_OK else {
            throw SQLiteError(database.connection, code: summaryCode, sql: "summary_extremes")
        }
    }

    /// Discards all rows, and sets the buckets and the columns.
    ///
    /// Rows outside the buckets are ignored. The end of the last bucket must not exceed the range of `Int64`.
    public func begin(start: Int64, width: Int64, count: Int, columns: Int) {
        state.pointee.begin(start: start, width: width, count: count, columns: columns)
    }

    /// Adds a row that is not in a table. NaN is ignored.
    public func add(_ time: Int64, _ values: [Double]) { state.pointee.add(time, values) }

    /// Returns and forgets the times of the summaries that were added, in their order.
    public func takeSummaries() -> [Int64] {
        defer { state.pointee.summaries.removeAll() }
        return state.pointee.summaries
    }

    /// The number of buckets.
    public var count: Int { state.pointee.count }

    /// Returns the number of rows in a bucket.
    public func rows(in bucket: Int) -> Int64 { state.pointee.rows[bucket] }

    /// The number of rows in all buckets.
    public var rows: Int64 { state.pointee.rows.reduce(0, +) }

    /// The number of those rows that were added as summaries.
    public var summarisedRows: Int64 { state.pointee.summarisedRows }

    /// Returns the least value of a column in a bucket, or NaN if all values are NULL.
    public func minimum(of column: Int, in bucket: Int) -> Double {
        let cell = state.pointee.cell(of: column, in: bucket)
        return cell.minimum <= cell.maximum ? cell.minimum : .nan
    }

    /// Returns the greatest value of a column in a bucket, or NaN if all values are NULL.
    public func maximum(of column: Int, in bucket: Int) -> Double {
        let cell = state.pointee.cell(of: column, in: bucket)
        return cell.minimum <= cell.maximum ? cell.maximum : .nan
    }

    /// Adds the rows of another connection, which has the same buckets and columns.
    public func add(_ other: BucketExtremes) { state.pointee.add(other.state.pointee) }
}

/// The buckets, in memory with stable addresses: the function of each row must not count references.
private struct BucketState {
    private(set) var start: Int64 = 0
    private(set) var width: Int64 = 1
    private(set) var count = 0
    private(set) var columns = 0
    private(set) var rows = UnsafeMutableBufferPointer<Int64>.allocate(capacity: 0)
    /// The minimum and maximum of each column of each bucket. They are infinite before the first value.
    private var extremes = UnsafeMutableBufferPointer<Double>.allocate(capacity: 0)
    /// The bucket of the last row. Rows usually come in order of time, so the next one is in it as well.
    private var current = 0
    private var currentStart: Int64 = 0
    private var currentEnd: Int64 = 0
    /// The times of the summaries.
    var summaries: [Int64] = []
    private(set) var summarisedRows: Int64 = 0

    mutating func begin(start: Int64, width: Int64, count: Int, columns: Int) {
        precondition(width > 0 && count >= 0)
        free()
        self.start = start
        self.width = width
        self.count = count
        self.columns = columns
        rows = .allocate(capacity: count)
        rows.initialize(repeating: 0)
        extremes = .allocate(capacity: 2 * count * columns)
        for index in extremes.indices {
            extremes.initializeElement(at: index, to: index % 2 == 0 ? .infinity : -.infinity)
        }
        (currentStart, currentEnd) = (0, 0)
        summaries.removeAll()
        summarisedRows = 0
    }

    func free() {
        rows.deallocate()
        extremes.deallocate()
    }

    func cell(of column: Int, in bucket: Int) -> (minimum: Double, maximum: Double) {
        precondition(bucket < count && column < columns)
        let first = 2 * (bucket * columns + column)
        return (extremes[first], extremes[first + 1])
    }

    mutating func add(_ other: BucketState) {
        precondition(count == other.count && columns == other.columns)
        for bucket in 0..<count { rows[bucket] += other.rows[bucket] }
        summarisedRows += other.summarisedRows
        for index in stride(from: 0, to: extremes.count, by: 2) {
            extremes[index] = min(extremes[index], other.extremes[index])
            extremes[index + 1] = max(extremes[index + 1], other.extremes[index + 1])
        }
    }

    /// Adds a row whose first value is its time.
    @inline(__always)
    mutating func add(_ values: UnsafeMutablePointer<OpaquePointer?>, _ valueCount: Int) {
        guard begin(at: sqlite3_value_int64(values[0])) else { return }
        var column = 1
        var cell = 2 * current * columns
        let end = min(valueCount, columns + 1)
        while column < end {
            if sqlite3_value_type(values[column]) != SQLITE_NULL { add(sqlite3_value_double(values[column]), to: cell) }
            column += 1
            cell += 2
        }
    }

    /// Adds a summary, whose first values are its time and its number of rows.
    mutating func addSummary(_ values: UnsafeMutablePointer<OpaquePointer?>, _ valueCount: Int) {
        let time = sqlite3_value_int64(values[0])
        summaries.append(time)
        let rows = sqlite3_value_int64(values[1])
        guard begin(at: time, rows: rows) else { return }
        summarisedRows += rows
        let first = 2 * current * columns
        for index in 0..<min(valueCount - 2, 2 * columns)
        where sqlite3_value_type(values[index + 2]) != SQLITE_NULL {
            add(sqlite3_value_double(values[index + 2]), to: first + index / 2 * 2)
        }
    }

    mutating func add(_ time: Int64, _ values: [Double]) {
        guard begin(at: time) else { return }
        for (column, value) in values.enumerated() { add(value, to: 2 * (current * columns + column)) }
    }

    /// Finds the bucket of rows and counts them.
    /// - Returns: whether there is a bucket.
    @inline(__always)
    private mutating func begin(at time: Int64, rows new: Int64 = 1) -> Bool {
        if time < currentStart || time >= currentEnd {
            guard time >= start, (time - start) / width < count else { return false }
            current = Int((time - start) / width)
            currentStart = start + Int64(current) * width
            currentEnd = currentStart + width
        }
        rows[current] &+= new
        return true
    }

    /// Adds a value. NaN is neither less nor greater than others.
    @inline(__always)
    private mutating func add(_ value: Double, to cell: Int) {
        if value < extremes[cell] { extremes[cell] = value }
        if value > extremes[cell + 1] { extremes[cell + 1] = value }
    }
}

private func addRow(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let values, count > 0, let state = sqlite3_user_data(context) else { return }
    state.assumingMemoryBound(to: BucketState.self).pointee.add(values, Int(count))
}

private func addSummary(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let values, count > 1, let state = sqlite3_user_data(context) else { return }
    state.assumingMemoryBound(to: BucketState.self).pointee.addSummary(values, Int(count))
}

private func destroyState(_ pointer: UnsafeMutableRawPointer?) {
    guard let state = pointer?.assumingMemoryBound(to: BucketState.self) else { return }
    state.pointee.free()
    state.deinitialize(count: 1)
    state.deallocate()
}
