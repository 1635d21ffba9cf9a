import LockstepModel
import LockstepSQLite

/// The table `_waiting`, to which everything that a commit receives is appended.
///
/// Rows up to ``upto`` are ``frozen`` while a merge moves their samples. New rows follow them.
struct WaitingTable {
    /// The rows that no merge has begun to move.
    private(set) var open = WaitingIndex()
    /// The rows that a merge moves.
    private(set) var frozen = WaitingIndex()
    /// The number of the last frozen row.
    private(set) var upto: Int64
    /// The number of the last row, or of the last one that there was.
    private var last: Int64
    private var lastCommitted: Int64
    /// The time at which the first of the open rows was appended or found.
    private(set) var openSince = ContinuousClock.now

    private let insert: SQLiteStatement
    private let select: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            """
            INSERT INTO _waiting (n, device_id, stream_id, epoch, batches, received, first_t, last_t, count, rows)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
        select = try database.prepare("SELECT first_t, rows FROM _waiting WHERE n = ?", persistent: true)
        // Rows to keep when a merge deletes the others. It is in memory, and created once, because SQLite then prepares all
        // statements again.
        try database.execute("CREATE TEMP TABLE kept AS SELECT * FROM main._waiting WHERE 0")
        upto = try database.integer("SELECT upto FROM _merge")
        last = max(upto, try database.integer("SELECT max(n) FROM _waiting"))
        lastCommitted = last
    }

    /// What a row tells besides its samples.
    struct Receipt {
        let device: Int64
        /// The time of receipt in µs since 1970, or nil for an estimate of a clock.
        let received: Int64?
        var epoch: Epoch?
        var scope: Int?
        /// The numbers of the batches in ascending order.
        var batches: [Int64] = []
        /// The number of the stream.
        var stream: Int64?
        /// The index of its table.
        var table: Int?
        var times: ClosedRange<Int64>?
        var samples = 0
    }

    /// Appends a row.
    /// - Parameter rows: the samples as JSON, or nil if there are none or they went straight to their table.
    mutating func append(_ receipt: Receipt, rows: [UInt8]?) throws(SQLiteError) {
        last += 1
        try insert.bind(last, at: 1)
        try insert.bind(receipt.device, at: 2)
        try insert.bind(receipt.stream, at: 3)
        try insert.bind(receipt.epoch?.rawValue, at: 4)
        switch receipt.batches.count {
        case 0: try insert.bindNull(at: 5)
        case 1: try insert.bind(receipt.batches[0], at: 5)
        default: try insert.bind(Self.json(receipt.batches), at: 5)
        }
        try insert.bind(receipt.received, at: 6)
        try insert.bind(receipt.times?.lowerBound, at: 7)
        try insert.bind(receipt.times?.upperBound, at: 8)
        try insert.bind(Int64(receipt.samples), at: 9)
        if let rows { try insert.bindText(rows, at: 10) } else { try insert.bindNull(at: 10) }
        try insert.run()
        if open.isEmpty { openSince = .now }
        var entry = WaitingIndex.Entry(
            n: last, size: Self.overhead + (rows?.count ?? 0), received: receipt.received)
        entry.samples = receipt.samples
        entry.table = receipt.table
        entry.times = receipt.times
        entry.hasRows = rows != nil
        entry.scope = receipt.scope
        open.add(entry, of: receipt.device)
    }

    /// The approximate size of a row without its samples, in bytes.
    static let overhead = 60

    /// Returns batch numbers in ascending order as a JSON array of numbers and ranges.
    private static func json(_ numbers: [Int64]) -> String {
        var json = "["
        var first = 0
        for index in numbers.indices {
            if index + 1 < numbers.count, numbers[index + 1] <= numbers[index] + 1 { continue }
            if json.utf8.count > 1 { json += "," }
            json += numbers[first] == numbers[index] ? "\(numbers[index])" : "[\(numbers[first]),\(numbers[index])]"
            first = index + 1
        }
        return json + "]"
    }

    /// Reads batch numbers from a column of the current row.
    static func batches(_ row: SQLiteStatement, at column: Int) -> SequenceSet {
        guard let text = row.text(at: column) else { return SequenceSet() }
        var batches = SequenceSet()
        func insert(_ first: Int64, _ last: Int64) {
            if first <= last { batches.insert((first...last).clamped(to: RangeLedger.validNumbers)) }
        }
        // Ranges are in brackets of their own.
        let isList = text.hasPrefix("[")
        for part in (isList ? text.dropFirst().dropLast() : text[...]).split(separator: "[") {
            let isRange = part.contains("]")
            let pieces = part.split(separator: "]", omittingEmptySubsequences: false)
            let numbers = pieces[0].split(separator: ",").compactMap { Int64($0) }
            if isRange, numbers.count == 2 { insert(numbers[0], numbers[1]) }
            let single =
                isRange ? pieces.dropFirst().flatMap { $0.split(separator: ",") }.compactMap { Int64($0) } : numbers
            for number in single { insert(number, number) }
        }
        return batches
    }

    /// Returns the time of the newest waiting sample of a device in a table, or nil if there is none.
    func newest(of table: Int, device: Int64) -> Int64? {
        let times = [open, frozen].compactMap { $0.devices[Int(device)]?.newest(of: table) }
        return times.max()
    }

    /// Returns the rows of a device that may contain times of a range.
    func rows(of table: Int, device: Int64, overlapping times: ClosedRange<Int64>) -> [WaitingIndex.Row] {
        var rows: [WaitingIndex.Row] = []
        for index in [frozen, open] {
            rows += index.devices[Int(device)]?.rows(of: table, overlapping: times) ?? []
        }
        return rows
    }

    /// Returns whether batches of another epoch of a device wait.
    func hasOther(than scope: Scope) -> Bool {
        [frozen, open].contains { index in
            index.devices[Int(scope.device)]?.scopes.contains { $0 != scope.number } ?? false
        }
    }

    /// Calls `body` with the statement at a row, whose columns are `first_t` and `rows`.
    func read(_ n: Int64, _ body: (SQLiteStatement) throws(SQLiteError) -> Void) throws(SQLiteError) {
        defer { select.reset() }
        try select.bind(n, at: 1)
        if try select.step() { try body(select) }
    }

    /// Adds a row that was found when the store was opened. Call ``commit()`` after the last one.
    mutating func restore(_ entry: WaitingIndex.Entry, of device: Int64) {
        if entry.n <= upto { frozen.add(entry, of: device) } else { open.add(entry, of: device) }
    }

    /// Freezes all rows, for a merge.
    mutating func freeze() {
        precondition(frozen.isEmpty, "the rows of an unfinished merge would be deleted without being moved")
        frozen = open
        open = WaitingIndex()
        upto = last
    }

    /// Forgets the frozen rows, after they were deleted.
    mutating func forgetFrozen() { frozen = WaitingIndex() }

    mutating func commit() {
        open.commit()
        frozen.commit()
        lastCommitted = last
    }

    mutating func rollBack() {
        open.rollBack()
        last = lastCommitted
    }
}
