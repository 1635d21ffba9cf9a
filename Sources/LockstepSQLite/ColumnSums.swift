import CSQLite

/// Sums of the columns of rows, computed by the SQL aggregate function `column_sums(value, …)` of one connection.
///
/// SQLite calls one function for each row, which takes less time than `avg` for each column. NULL is ignored.
///
/// ```swift
/// let sums = try ColumnSums(in: database)
/// sums.begin(columns: 2)
/// try database.prepare("SELECT column_sums(x, y) FROM sample").run()
/// ```
public final class ColumnSums {
    /// What is known of a column.
    public struct Column: Sendable {
        /// The number of values that are not NULL.
        public fileprivate(set) var count: Int64 = 0
        public fileprivate(set) var sum = 0.0
        /// The least value, or infinity without any.
        public fileprivate(set) var minimum = Double.infinity
        /// The greatest value, or negative infinity without any.
        public fileprivate(set) var maximum = -Double.infinity
        /// The number of values below 0.
        public fileprivate(set) var negatives: Int64 = 0

        @inline(__always)
        fileprivate mutating func add(_ value: Double) {
            count &+= 1
            sum += value
            if value < minimum { minimum = value }
            if value > maximum { maximum = value }
            if value < 0 { negatives &+= 1 }
        }
    }

    fileprivate struct State {
        var rows: Int64 = 0
        /// In memory with a stable address: the function of each row must not count references.
        var columns = UnsafeMutableBufferPointer<Column>.allocate(capacity: 0)
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

    /// Discards all rows, and sets the number of columns.
    public func begin(columns: Int) {
        state.pointee.rows = 0
        state.pointee.columns.deallocate()
        state.pointee.columns = .allocate(capacity: columns)
        state.pointee.columns.initialize(repeating: Column())
    }

    /// Adds a row that is not in a table. NaN is ignored.
    public func add(_ values: [Double]) {
        state.pointee.rows &+= 1
        for (column, value) in values.enumerated() where !value.isNaN { state.pointee.columns[column].add(value) }
    }

    /// The number of rows.
    public var rows: Int64 { state.pointee.rows }

    public subscript(column: Int) -> Column {
        precondition(state.pointee.columns.indices.contains(column))
        return state.pointee.columns[column]
    }
}

private func addRow(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let data = sqlite3_user_data(context) else { return }
    let state = data.assumingMemoryBound(to: ColumnSums.State.self)
    state.pointee.rows &+= 1
    guard let values, let column = state.pointee.columns.baseAddress else { return }
    for index in 0..<min(Int(count), state.pointee.columns.count) {
        guard sqlite3_value_type(values[index]) != SQLITE_NULL else { continue }
        column[index].add(sqlite3_value_double(values[index]))
    }
}

private func destroyState(_ pointer: UnsafeMutableRawPointer?) {
    guard let state = pointer?.assumingMemoryBound(to: ColumnSums.State.self) else { return }
    state.pointee.columns.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
}
