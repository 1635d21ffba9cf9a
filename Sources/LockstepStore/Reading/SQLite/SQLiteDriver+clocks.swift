import LockstepModel
import LockstepSQLite

extension SQLiteDriver {
    /// The estimates of all devices are read and cached until the store changes: one scan is faster than a search for each
    /// device.
    func waitingClocks() throws(SQLiteError) -> [Int64: [ClockPoint]] {
        let version = try database.integer("PRAGMA data_version")
        if let known = cachedClocks, known.version == version { return known.points }
        var points: [Int64: [ClockPoint]] = [:]
        let scan = try database.prepare(
            """
            SELECT \(ClockTable.waitingColumns) FROM _waiting, json_each(rows) AS estimate
            WHERE stream_id = \(ClockTable.streamID) AND \(isWaiting)
            """)
        while try scan.step() {
            points[scan.int64(at: 0), default: []].append(
                ClockPoint(
                    collector: CollectorID(unchecked: scan.text(at: 1) ?? ""),
                    time: Timestamp(microseconds: scan.int64(at: 3)),
                    segment: Timestamp(microseconds: scan.int64(at: 4)), offset: scan.int64(at: 5),
                    skew: Int64((scan.double(at: 6) * 1000).rounded()), bound: scan.int64(at: 7),
                    skewBound: Int64((scan.double(at: 8) * 1000).rounded())))
        }
        cachedClocks = WaitingClocks(version: version, points: points)
        return points
    }
}

/// The estimates of clocks that wait, by device id.
struct WaitingClocks {
    /// SQLite's number of the store's state.
    let version: Int64
    let points: [Int64: [ClockPoint]]
}
