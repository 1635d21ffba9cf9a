import LockstepModel
import LockstepSQLite

/// The merge of the frozen rows of `_waiting` into the tables, device by device, in slices.
///
/// Each slice is a transaction that moves the samples of some devices and raises the mark, which hides their rows in
/// `_waiting`. The last slice deletes the rows.
struct WaitingMerge {
    /// The ids of the devices, in ascending order.
    private let devices: [Int64]
    private var next = 0
    private let mark: SQLiteStatement
    private(set) var isDone = false
    /// The size of what was frozen, in bytes.
    let size: Int

    /// Continues the merge of the frozen rows, some of which a mark may hide already.
    init(continuing waiting: WaitingTable, in database: SQLiteDatabase) throws(SQLiteError) {
        mark = try database.prepare("UPDATE _merge SET upto = ?, device_done = ?", persistent: true)
        devices = waiting.frozen.devices.keys.map(Int64.init)
        size = waiting.frozen.size
    }

    /// Freezes what waits, and starts to merge it.
    /// - Throws: an error of SQLite. Nothing is frozen then.
    init(freezing waiting: inout WaitingTable, in database: SQLiteDatabase) throws(SQLiteError) {
        mark = try database.prepare("UPDATE _merge SET upto = ?, device_done = ?", persistent: true)
        waiting.freeze()
        devices = waiting.frozen.devices.keys.map(Int64.init)
        size = waiting.frozen.size
    }

    /// The share of the devices that are done, from 0 to 1.
    var progress: Double { devices.isEmpty ? 1 : Double(next) / Double(devices.count + 1) }

    /// Does one slice of the work in a transaction of its own.
    /// - Parameters:
    ///   - move: moves what waits of a device.
    ///   - end: does more in the transaction that deletes the rows.
    ///   - isOver: whether to end the slice after the current device.
    /// - Throws: an error of SQLite. The slice is then undone and can be repeated.
    mutating func runSlice(
        _ waiting: WaitingTable, in database: SQLiteDatabase, until isOver: () -> Bool,
        move: (Int64, WaitingIndex.Device) throws -> Void, end: () throws -> Void
    ) throws {
        if next < devices.count {
            next = try database.transaction {
                var position = next
                repeat {
                    if let content = waiting.frozen.devices[Int(devices[position])] {
                        try move(devices[position], content)
                    }
                    position += 1
                } while position < devices.count && !isOver()
                try setMark(waiting.upto, done: devices[position - 1])
                return position
            }
        } else {
            try database.transaction {
                try deleteFrozen(waiting, in: database)
                try setMark(waiting.upto, done: 0)
                try end()
            }
            isDone = true
        }
    }

    /// Deletes the frozen rows. Without a condition, SQLite frees the pages without writing them; with one, it would rewrite
    /// most of them. So the few rows that were appended since the start of the merge are written again.
    private func deleteFrozen(_ waiting: WaitingTable, in database: SQLiteDatabase) throws(SQLiteError) {
        guard !waiting.open.isEmpty else { return try database.execute("DELETE FROM main._waiting") }
        try database.execute(
            """
            DELETE FROM temp.kept;
            INSERT INTO temp.kept SELECT * FROM main._waiting WHERE n > \(waiting.upto);
            DELETE FROM main._waiting;
            INSERT INTO main._waiting SELECT * FROM temp.kept ORDER BY n;
            DELETE FROM temp.kept;
            """)
    }

    private func setMark(_ upto: Int64, done device: Int64) throws(SQLiteError) {
        try mark.bind(upto, at: 1)
        try mark.bind(device, at: 2)
        try mark.run()
    }
}
