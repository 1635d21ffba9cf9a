import LockstepModel
import LockstepSQLite

/// The table `clocks` of estimates of devices' clocks.
struct ClockTable {
    static let create = """
        CREATE TABLE clocks (
            -- Estimates of devices' clocks, linear in between. See docs/clock.md and the view v_clocks.
            device_id INTEGER NOT NULL REFERENCES merged_devices,
            collector TEXT NOT NULL, -- id of the collector whose clock is the reference
            epoch TEXT NOT NULL, -- epoch of the agent's outbox
            t INTEGER NOT NULL, -- time of the estimate on the device's time line, in µs since 1970-01-01 UTC
            segment INTEGER NOT NULL, -- time of the first estimate since a clock was stepped or a machine suspended
            offset INTEGER NOT NULL, -- device's time minus collector's time, in µs
            skew REAL NOT NULL, -- change of the offset, in ppm
            bound INTEGER NOT NULL, -- largest possible error of the offset, in µs
            skew_bound REAL NOT NULL, -- largest possible error of the skew, in ppm
            PRIMARY KEY (device_id, collector, epoch, t)
        ) WITHOUT ROWID
        """

    private let insert: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            """
            INSERT OR IGNORE INTO clocks (device_id, collector, epoch, t, segment, offset, skew, bound, skew_bound)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
    }

    /// Writes an estimate of the device with id `device`.
    func write(_ clock: DeviceClock, of device: Int64) throws(SQLiteError) {
        let point = clock.point
        try insert.bind(device, at: 1)
        try insert.bind(point.collector.rawValue, at: 2)
        try insert.bind(clock.epoch.rawValue, at: 3)
        try insert.bind(point.time.microseconds, at: 4)
        try insert.bind(point.segment.microseconds, at: 5)
        try insert.bind(point.offset, at: 6)
        try insert.bind(Double(point.skew) / 1000, at: 7)
        try insert.bind(point.bound, at: 8)
        try insert.bind(Double(point.skewBound) / 1000, at: 9)
        try insert.run()
    }
}
