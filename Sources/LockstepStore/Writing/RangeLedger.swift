import LockstepModel
import LockstepSQLite

/// The table `_batches` or `dropped`, which contains batch numbers as ranges.
///
/// It caches committed numbers in memory, and collects changes until the transaction commits.
struct RangeLedger {
    /// The valid batch numbers, as in payloads. The upper limit keeps them exact in JSON and prevents overflows.
    static let validNumbers: ClosedRange<Int64> = 1...((1 << 53) - 1)

    /// The stored numbers, by the number of their scope.
    private var committed = NumberMap<SequenceSet>()
    /// The numbers after the current transaction, by the number of their scope.
    private var pending = NumberMap<SequenceSet>()
    /// The scopes with numbers in `pending`.
    private var changed: [Scope] = []

    private let select: SQLiteStatement
    private let selectOther: SQLiteStatement
    private let insert: SQLiteStatement
    private let update: SQLiteStatement
    private let delete: SQLiteStatement

    init(table: String, in database: SQLiteDatabase) throws(SQLiteError) {
        let key = "device_id = ? AND epoch = ?"
        select = try database.prepare(
            "SELECT first, last FROM \(table) WHERE \(key) ORDER BY first", persistent: true)
        selectOther = try database.prepare(
            "SELECT 1 FROM \(table) WHERE device_id = ? AND epoch <> ? LIMIT 1", persistent: true)
        insert = try database.prepare(
            "INSERT INTO \(table) (device_id, epoch, first, last) VALUES (?, ?, ?, ?)", persistent: true)
        update = try database.prepare(
            "UPDATE \(table) SET last = ?4 WHERE device_id = ?1 AND epoch = ?2 AND first = ?3", persistent: true)
        delete = try database.prepare("DELETE FROM \(table) WHERE \(key) AND first = ?", persistent: true)
    }

    /// Returns the numbers of a scope, including pending changes.
    mutating func numbers(of scope: Scope) throws(SQLiteError) -> SequenceSet {
        if let numbers = pending[scope.number] ?? committed[scope.number] { return numbers }
        let loaded = try load(scope)
        committed[scope.number] = loaded
        return loaded
    }

    /// Inserts ranges, which ``flush()`` writes later. Numbers outside ``validNumbers`` are ignored.
    mutating func insert(_ ranges: some Sequence<ClosedRange<Int64>>, of scope: Scope) throws(SQLiteError) {
        if pending[scope.number] == nil {
            pending[scope.number] = try numbers(of: scope)
            changed.append(scope)
        }
        for range in ranges where range.overlaps(Self.validNumbers) {
            pending[scope.number, default: SequenceSet()].insert(range.clamped(to: Self.validNumbers))
        }
    }

    /// Marks numbers as committed that wait but are not in the table. Call it when the store is opened.
    mutating func restore(_ numbers: SequenceSet, of scope: Scope) throws(SQLiteError) {
        committed[scope.number] = try self.numbers(of: scope).union(numbers)
    }

    /// Returns whether the table has numbers of another epoch of a device.
    func hasOther(than scope: Scope) throws(SQLiteError) -> Bool {
        defer { selectOther.reset() }
        try selectOther.bind(scope.device, at: 1)
        try selectOther.bind(scope.epoch.rawValue, at: 2)
        return try selectOther.step()
    }

    /// Writes the committed numbers of a scope that the table does not contain yet.
    func persist(_ scope: Scope) throws(SQLiteError) {
        guard let numbers = committed[scope.number] else { return }
        try write(RangeChanges(from: try load(scope), to: numbers), of: scope)
    }

    /// Writes the changed ranges. Usually, only the end of the last range has changed.
    func flush() throws(SQLiteError) {
        for scope in changed {
            let changes = RangeChanges(
                from: committed[scope.number] ?? SequenceSet(), to: pending[scope.number] ?? SequenceSet())
            try write(changes, of: scope)
        }
    }

    private func write(_ changes: RangeChanges, of scope: Scope) throws(SQLiteError) {
        for first in changes.deleted {
            try bind(scope, first, to: delete)
            try delete.run()
        }
        for range in changes.updated { try write(range, scope, with: update) }
        for range in changes.inserted { try write(range, scope, with: insert) }
    }

    /// Marks the pending changes as committed. Call after the transaction has committed.
    mutating func commit() {
        for scope in changed { committed[scope.number] = pending[scope.number].take() }
        changed.removeAll(keepingCapacity: true)
    }

    /// Discards the pending changes. Call after the transaction was rolled back.
    mutating func rollBack() {
        for scope in changed { pending[scope.number] = nil }
        changed.removeAll(keepingCapacity: true)
    }

    private func load(_ scope: Scope) throws(SQLiteError) -> SequenceSet {
        try select.bind(scope.device, at: 1)
        try select.bind(scope.epoch.rawValue, at: 2)
        var numbers = SequenceSet()
        while try select.step() {
            if let range = batchRange(select, at: 0) { numbers.insert(range) }
        }
        return numbers
    }

    private func write(
        _ range: ClosedRange<Int64>, _ scope: Scope, with statement: SQLiteStatement
    ) throws(SQLiteError) {
        try bind(scope, range.lowerBound, to: statement)
        try statement.bind(range.upperBound, at: 4)
        try statement.run()
    }

    private func bind(
        _ scope: Scope, _ first: Int64, to statement: SQLiteStatement
    ) throws(SQLiteError) {
        try statement.bind(scope.device, at: 1)
        try statement.bind(scope.epoch.rawValue, at: 2)
        try statement.bind(first, at: 3)
    }
}

/// Reads a range from the columns `column` and `column + 1` of the current row. Returns nil if the range is invalid,
/// for example after manual edits of the table.
func batchRange(_ statement: SQLiteStatement, at column: Int) -> ClosedRange<Int64>? {
    let first = statement.int64(at: column)
    let last = statement.int64(at: column + 1)
    return first <= last ? (first...last).clamped(to: RangeLedger.validNumbers) : nil
}
