import LockstepModel
import LockstepSQLite

/// The batch numbers of one table, `batches` or `dropped`: in memory what is committed, beside it what waits for the
/// commit.
struct RangeLedger {
    /// The numbers that a batch can have: exact in JSON, and far from where adding one overflows.
    static let possible: ClosedRange<Int64> = 1...(1 << 53)

    private var committed: [DeviceEpoch: SequenceSet] = [:]
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

    /// What is known of `key`, with what waits for the commit.
    mutating func numbers(of key: DeviceEpoch, device: Int64) throws(SQLiteError) -> SequenceSet {
        if let waiting = pending[key] { return waiting.numbers }
        if let known = committed[key] { return known }
        let loaded = try load(key, device: device)
        committed[key] = loaded
        return loaded
    }

    /// Adds ranges, to be written by ``flush()``. What no agent can count to is left out.
    mutating func insert(
        _ ranges: some Sequence<ClosedRange<Int64>>, of key: DeviceEpoch, device: Int64
    ) throws(SQLiteError) {
        var numbers = try numbers(of: key, device: device)
        // A set held twice would be copied on each insert.
        pending[key] = nil
        for range in ranges where range.overlaps(Self.possible) {
            numbers.insert(range.clamped(to: Self.possible))
        }
        pending[key] = (device, numbers)
    }

    /// Writes the ranges that changed, usually the end of the last one.
    func flush() throws(SQLiteError) {
        for (key, waiting) in pending {
            let changes = RangeChanges(from: committed[key] ?? SequenceSet(), to: waiting.numbers)
            for first in changes.deleted {
                try bind(key, waiting.device, first, to: delete)
                try delete.run()
            }
            for range in changes.extended { try write(range, key, waiting.device, with: update) }
            for range in changes.inserted { try write(range, key, waiting.device, with: insert) }
        }
    }

    /// Takes what waits for known: the transaction is committed.
    mutating func commit() {
        for (key, waiting) in pending { committed[key] = waiting.numbers }
        pending.removeAll(keepingCapacity: true)
    }

    /// Forgets what waits: the transaction was rolled back.
    mutating func rollback() {
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

/// Reads a range from two columns of a row, if it is one: a person may have edited the table.
func batchRange(_ statement: SQLiteStatement, at column: Int) -> ClosedRange<Int64>? {
    let first = statement.int64(at: column)
    let last = statement.int64(at: column + 1)
    return first <= last ? (first...last).clamped(to: RangeLedger.possible) : nil
}
