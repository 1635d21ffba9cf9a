import CSQLite

/// Sums of the columns of rows, computed by the SQL aggregate function `column_sums(t, value, …)` of one connection.
///
/// SQLite calls one function for each row, which takes less time than `avg` for each column. NULL is ignored. The rows of each
/// part, a span of fixed length, are added first, and then the parts: a sum is exactly the same if those of some parts were
/// stored before.
///
/// ```swift
/// let sums = try ColumnSums(in: database)
/// sums.begin(columns: 2, part: 60_000_000)
/// try database.prepare("SELECT column_sums(t, x, y) FROM sample").run()
/// ```
public final class ColumnSums {
    /// What is known of a column.
    public struct Column: Sendable {
        /// The number of values that are not NULL.
        public var count: Int64 = 0
        /// The sum.
        public var sum = 0.0
        /// The least value, or infinity without any.
        public var minimum = Double.infinity
        /// The greatest value, or negative infinity without any.
        public var maximum = -Double.infinity
        /// The sum with 360 added to each negative value, as for longitudes on both sides of the 180th meridian.
        public var east = 0.0

        /// Creates a column without values.
        public init() {}

        @inline(__always)
        fileprivate mutating func add(_ value: Double) {
            count &+= 1
            sum += value
            if value < minimum { minimum = value }
            if value > maximum { maximum = value }
            east += value < 0 ? value + 360 : value
        }

        /// Adds the values of another part.
        fileprivate mutating func add(_ other: Column) {
            guard other.count > 0 else { return }
            count &+= other.count
            sum += other.sum
            minimum = min(minimum, other.minimum)
            maximum = max(maximum, other.maximum)
            east += other.east
        }
    }

    fileprivate struct State {
        var rows: Int64 = 0
        /// The sums of complete parts, in memory with a stable address: the function of each row must not count references.
        var columns = UnsafeMutableBufferPointer<Column>.allocate(capacity: 0)
        /// The sums of the current part, its times, and the length of parts.
        var part = UnsafeMutableBufferPointer<Column>.allocate(capacity: 0)
        var start: Int64 = 0
        var end: Int64 = 0
        var length: Int64 = 1

        /// Ends the current part, and begins that of a time.
        mutating func begin(at time: Int64) {
            for index in part.indices {
                columns[index].add(part[index])
                part[index] = Column()
            }
            let rest = time % length
            start = time &- (rest < 0 ? rest + length : rest)
            end = start &+ length
        }

        func free() {
            columns.deallocate()
            part.deallocate()
        }
    }

    /// A strong reference that keeps the connection open, and with it `state`, which SQLite frees.
    private let database: SQLiteDatabase
    private let state: UnsafeMutablePointer<State>

    /// Adds the function to a connection. Create at most one object for each connection.
    public init(in database: SQLiteDatabase) throws(SQLiteError) {
        self.database = database
        state = .allocate(capacity: 1)
        state.initialize(to: State())
        let code = sqlite3_create_function_v2(
            database.connection, "column_sums", -1, SQLITE_UTF8, state, nil, addRow, { _ in }, destroyState)
        guard code == SQLITE_OK else {
            // SQLite has already freed the state.
            throw SQLiteError(database.connection, code: code, sql: "column_sums")
        }
    }

    /// Discards all rows, and sets the number of columns and the length of parts.
    public func begin(columns: Int, part length: Int64) {
        state.pointee.free()
        (state.pointee.rows, state.pointee.start, state.pointee.end, state.pointee.length) = (0, 0, 0, length)
        state.pointee.columns = .allocate(capacity: columns)
        state.pointee.columns.initialize(repeating: Column())
        state.pointee.part = .allocate(capacity: columns)
        state.pointee.part.initialize(repeating: Column())
    }

    /// Adds a row that is not in a table. NaN is ignored.
    public func add(_ time: Int64, _ values: [Double]) {
        state.pointee.rows &+= 1
        if time < state.pointee.start || time >= state.pointee.end { state.pointee.begin(at: time) }
        for (column, value) in values.enumerated() where !value.isNaN { state.pointee.part[column].add(value) }
    }

    /// Adds a whole part, after those that were added before.
    public func add(rows: Int64, _ columns: [Column]) {
        endPart()
        state.pointee.rows &+= rows
        for (index, column) in columns.enumerated() { state.pointee.columns[index].add(column) }
    }

    /// Ends the current part: rows that follow are of another one.
    public func endPart() {
        state.pointee.begin(at: 0)
        // Empty, so that the next row begins a part.
        state.pointee.end = state.pointee.start
    }

    /// The number of rows.
    public var rows: Int64 { state.pointee.rows }

    /// The sums of a column in all parts, of which the last one then ends.
    public subscript(column: Int) -> Column {
        endPart()
        precondition(state.pointee.columns.indices.contains(column))
        return state.pointee.columns[column]
    }
}

private func addRow(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let data = sqlite3_user_data(context), let values, count > 0 else { return }
    let state = data.assumingMemoryBound(to: ColumnSums.State.self)
    state.pointee.rows &+= 1
    let time = sqlite3_value_int64(values[0])
    if time < state.pointee.start || time >= state.pointee.end { state.pointee.begin(at: time) }
    guard let column = state.pointee.part.baseAddress else { return }
    for index in 0..<min(Int(count) - 1, state.pointee.part.count) {
        let value = sqlite3_value_double(values[index + 1])
        // NULL is 0 then. Most values are known at once.
        if value == 0, sqlite3_value_type(values[index + 1]) == SQLITE_NULL { continue }
        column[index].add(value)
    }
}

private func destroyState(_ pointer: UnsafeMutableRawPointer?) {
    guard let state = pointer?.assumingMemoryBound(to: ColumnSums.State.self) else { return }
    state.pointee.free()
    state.deinitialize(count: 1)
    state.deallocate()
}
