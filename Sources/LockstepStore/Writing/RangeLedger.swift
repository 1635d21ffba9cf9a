import LockstepModel
import LockstepSQLite

/// The table `batches` or `dropped`, which contains batch numbers as ranges.
///
/// It caches committed numbers in memory, and collects changes until the transaction commits.
struct RangeLedger {
    /// The valid batch numbers, as in payloads. The upper limit keeps them exact in JSON and prevents overflows.
    static let validNumbers: ClosedRange<Int64> = 1...((1 << 53) - 1)

    /// The stored numbers.
    private var committed: [DeviceEpoch: SequenceSet] = [:]
    /// The numbers after the current transaction, with the id of the device.
    private var pending: [DeviceEpoch: (device: Int64, numbers: SequenceSet)] = [:]

    private let select: SQLiteStatement
    private let insert: SQLiteStatement
    private let update: SQLiteStatement
    private let delete: SQLiteStatement

    init(table: String, in database: SQLiteDatabase) throws(SQLiteError) {
        let key = "device_id = ? AND epoch = ?"
        select = try database.prepare(
            "SELECT first, last FROM \(table) WHERE \(key) ORDER BY first", persistent: true)
        insert = try database.prepare(
            "INSERT INTO \(table) (device_id, epoch, first, last) VALUES (?, ?, ?, ?)", persistent: true)
        update = try database.prepare(
            "UPDATE \(table) SET last = ?4 WHERE device_id = ?1 AND epoch = ?2 AND first = ?3", persistent: true)
        delete = try database.prepare("DELETE FROM \(table) WHERE \(key) AND first = ?", persistent: true)
    }

    /// Returns the numbers of `key`, including pending changes.
    mutating func numbers(of key: DeviceEpoch, device: Int64) throws(SQLiteError) -> SequenceSet {
        if let entry = pending[key] { return entry.numbers }
        if let known = committed[key] { return known }
        let loaded = try load(key, device: device)
        committed[key] = loaded
        return loaded
    }

    /// Inserts ranges, which ``flush()`` writes later. Numbers outside ``validNumbers`` are ignored.
    mutating func insert(
        _ ranges: some Sequence<ClosedRange<Int64>>, of key: DeviceEpoch, device: Int64
    ) throws(SQLiteError) {
        var numbers = try numbers(of: key, device: device)
        // Release the second reference to the set: otherwise, the first insert would copy the set.
        pending[key] = nil
        for range in ranges where range.overlaps(Self.validNumbers) {
            numbers.insert(range.clamped(to: Self.validNumbers))
        }
        pending[key] = (device, numbers)
    }

    /// Marks numbers as committed that a log contains but the table does not. Call it when the store is opened.
    mutating func restore(_ numbers: SequenceSet, of key: DeviceEpoch, device: Int64) throws(SQLiteError) {
        committed[key] = try self.numbers(of: key, device: device).union(numbers)
    }

    /// Writes the committed numbers of `key` that the table does not contain yet.
    func persist(_ key: DeviceEpoch, device: Int64) throws(SQLiteError) {
        guard let numbers = committed[key] else { return }
        try write(RangeChanges(from: try load(key, device: device), to: numbers), of: key, device: device)
    }

    /// Writes the changed ranges. Usually, only the end of the last range has changed.
    func flush() throws(SQLiteError) {
        for (key, entry) in pending {
            let changes = RangeChanges(from: committed[key] ?? SequenceSet(), to: entry.numbers)
            try write(changes, of: key, device: entry.device)
        }
    }

    private func write(_ changes: RangeChanges, of key: DeviceEpoch, device: Int64) throws(SQLiteError) {
        for first in changes.deleted {
            try bind(key, device, first, to: delete)
            try delete.run()
        }
        for range in changes.updated { try write(range, key, device, with: update) }
        for range in changes.inserted { try write(range, key, device, with: insert) }
    }

    /// Marks the pending changes as committed. Call after the transaction has committed.
    mutating func commit() {
        for (key, entry) in pending { committed[key] = entry.numbers }
        pending.removeAll(keepingCapacity: true)
    }

    /// Discards the pending changes. Call after the transaction was rolled back.
    mutating func rollBack() {
        pending.removeAll(keepingCapacity: true)
    }

    private func load(_ key: DeviceEpoch, device: Int64) throws(SQLiteError) -> SequenceSet {
        try select.bind(device, at: 1)
        try select.bind(key.epoch.rawValue, at: 2)
        var numbers = SequenceSet()
        while try select.step() {
            if let range = batchRange(select, at: 0) { numbers.insert(range) }
        }
        return numbers
    }

    private func write(
        _ range: ClosedRange<Int64>, _ key: DeviceEpoch, _ device: Int64, with statement: SQLiteStatement
    ) throws(SQLiteError) {
        try bind(key, device, range.lowerBound, to: statement)
        try statement.bind(range.upperBound, at: 4)
        try statement.run()
    }

    private func bind(
        _ key: DeviceEpoch, _ device: Int64, _ first: Int64, to statement: SQLiteStatement
    ) throws(SQLiteError) {
        try statement.bind(device, at: 1)
        try statement.bind(key.epoch.rawValue, at: 2)
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
