import LockstepModel
import LockstepSQLite

/// Finds the samples in `_waiting` for one reader of a store.
///
/// It knows which rows are those of each device and stream, and reads only what was appended since the last call: rows
/// have ascending numbers that are never used again.
final class WaitingReader {
    typealias Row = (time: Int64, values: [Double])

    /// A row of `_waiting` with samples.
    private struct Entry {
        let n: Int64
        let first: Int64
        let last: Int64
        let count: Int64
    }

    private struct Source: Hashable {
        let stream: Int64
        let device: Int64
    }

    private let database: SQLiteDatabase
    private var entries: [Source: [Entry]] = [:]
    /// The numbers of the first and the last known row.
    private var firstKnown = Int64.max
    private var lastKnown: Int64 = 0
    /// Rows up to `upto` of devices up to `deviceDone` are in the tables.
    private var upto: Int64 = 0
    private var deviceDone: Int64 = 0
    /// SQLite's number of the state that was read.
    private var version: Int64?
    private let select: SQLiteStatement
    private let selectNew: SQLiteStatement
    private let selectMark: SQLiteStatement
    private let selectVersion: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        self.database = database
        select = try database.prepare("SELECT rows FROM _waiting WHERE n = ?", persistent: true)
        selectNew = try database.prepare(
            """
            SELECT n, stream_id, device_id, first_t, last_t, count FROM _waiting
            WHERE n > ? AND stream_id > 0 AND rows IS NOT NULL ORDER BY n
            """, persistent: true)
        selectMark = try database.prepare(
            "SELECT upto, device_done, (SELECT min(n) FROM _waiting) FROM _merge", persistent: true)
        selectVersion = try database.prepare("PRAGMA data_version", persistent: true)
    }

    /// Reads what was appended or moved since the last call. Call it within the transaction of the following reads.
    private func refresh() throws(SQLiteError) {
        defer {
            selectVersion.reset()
            selectMark.reset()
        }
        let current = try selectVersion.step() ? selectVersion.int64(at: 0) : 0
        guard current != version, try selectMark.step() else { return }
        upto = selectMark.int64(at: 0)
        deviceDone = selectMark.int64(at: 1)
        let first = selectMark.optionalInt64(at: 2)
        if let first, first > firstKnown {
            for (source, rows) in entries {
                let rest = rows.drop { $0.n < first }
                entries[source] = rest.isEmpty ? nil : Array(rest)
            }
            firstKnown = first
        }
        guard first != nil else {
            entries.removeAll()
            firstKnown = .max
            version = current
            return
        }
        try selectNew.bind(lastKnown, at: 1)
        while try selectNew.step() {
            let n = selectNew.int64(at: 0)
            firstKnown = min(firstKnown, n)
            lastKnown = n
            let source = Source(stream: selectNew.int64(at: 1), device: selectNew.int64(at: 2))
            entries[source, default: []].append(
                Entry(n: n, first: selectNew.int64(at: 3), last: selectNew.int64(at: 4), count: selectNew.int64(at: 5)))
        }
        // Not before: a query that is cancelled meanwhile leaves the rest for the next one.
        version = current
    }

    /// Returns the entries of a device and stream that are not in the table yet.
    private func waiting(_ source: Source) -> ArraySlice<Entry> {
        let rows = entries[source] ?? []
        return source.device <= deviceDone ? rows.drop { $0.n <= upto } : rows[...]
    }

    /// Reads the samples of one stream.
    struct Stream {
        fileprivate let reader: WaitingReader
        fileprivate let id: Int64
        fileprivate let codec: WaitingRows

        /// Returns the samples of a device in a range of times, in order of time.
        func rows(of device: Int64, _ times: Range<Int64>) throws(SQLiteError) -> [Row] {
            try reader.refresh()
            return try read(reader.waiting(Source(stream: id, device: device)), times)
        }

        private func read(_ entries: some Sequence<Entry>, _ times: Range<Int64>) throws(SQLiteError) -> [Row] {
            var result: [Row] = []
            var isSorted = true
            for entry in entries where entry.first < times.upperBound && entry.last >= times.lowerBound {
                try reader.select.bind(entry.n, at: 1)
                defer { reader.select.reset() }
                guard try reader.select.step() else { continue }
                codec.decode(reader.select, at: 0, after: entry.first) { time, values in
                    guard times.contains(time) else { return }
                    if let last = result.last, last.time > time { isSorted = false }
                    result.append((time, values))
                }
            }
            if !isSorted { result.sort { $0.time < $1.time } }
            return result
        }

        /// Returns the times of the oldest and the newest sample of a device in a range of times, or none.
        func endTimes(of device: Int64, _ times: Range<Int64>) throws(SQLiteError) -> [Int64] {
            let rows = try rows(of: device, times)
            return [rows.first?.time, rows.last?.time].compactMap(\.self)
        }

        /// Returns the newest sample of a device in a range of times in which a column is known, or nil if there is none.
        /// - Parameter column: the index of the column, or nil if it does not matter.
        func newest(of device: Int64, _ times: Range<Int64>, knowing column: Int? = nil) throws(SQLiteError) -> Row? {
            try reader.refresh()
            var newest: Row?
            // The newest first: older ones rarely need to be read.
            for entry in reader.waiting(Source(stream: id, device: device)).sorted(by: { $0.last > $1.last }) {
                if let newest, newest.time >= entry.last { break }
                let row = try read(CollectionOfOne(entry), times).last { row in
                    column.map { !row.values[$0].isNaN } ?? true
                }
                if let row, newest.map({ $0.time < row.time }) ?? true { newest = row }
            }
            return newest
        }

        /// Returns the time of the newest sample of each device, by device id.
        func newestTimes() throws(SQLiteError) -> [Int64: Int64] {
            try reader.refresh()
            return devices { $0.map(\.last).max() }
        }

        /// Returns the number of samples of each device, by device id.
        func counts() throws(SQLiteError) -> [Int64: Int64] {
            try reader.refresh()
            return devices { $0.reduce(0) { $0 + $1.count } }
        }

        private func devices(_ value: (ArraySlice<Entry>) -> Int64?) -> [Int64: Int64] {
            var result: [Int64: Int64] = [:]
            for source in reader.entries.keys where source.stream == id {
                let rows = reader.waiting(source)
                if !rows.isEmpty { result[source.device] = value(rows) }
            }
            return result
        }
    }

    /// Returns the reader of a stream, or nil if the store has no table for the stream yet.
    func stream(_ stream: SensorStream) throws(SQLiteError) -> Stream? {
        guard let columns = try RowColumns(of: stream, in: database),
            let id = try StreamTable.id(of: stream, in: database)
        else { return nil }
        return Stream(reader: self, id: id, codec: WaitingRows(stream, columns))
    }
}
