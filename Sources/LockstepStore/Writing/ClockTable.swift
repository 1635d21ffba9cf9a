import LockstepModel
import LockstepSQLite

/// Writes estimates of devices' clocks to the table `merged_clocks`, and finds them there, in the logs and in the runs.
struct ClockTable {
    /// The statement that creates the table, as of schema 5.
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
    private let find: SQLiteStatement
    private let findInPart: [RowSource: SQLiteStatement]

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            """
            INSERT OR IGNORE INTO merged_clocks
                (device_id, collector, epoch, t, segment, offset, skew, bound, skew_bound)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
        find = try database.prepare(
            "SELECT 1 FROM merged_clocks WHERE device_id = ? AND collector = ? AND epoch = ? AND t = ?",
            persistent: true)
        var findInPart: [RowSource: SQLiteStatement] = [:]
        for source in RowSource.all {
            findInPart[source] = try database.prepare(ClockLog.findSQL(source), persistent: true)
        }
        self.findInPart = findInPart
    }

    /// Writes an estimate of the device with id `device` to the table, unless the table contains it.
    func write(_ clock: DeviceClock, of device: Int64) throws(SQLiteError) {
        try insert.bind(device, at: 1)
        try insert.bind(clock.point.collector.rawValue, at: 2)
        try insert.bind(clock.epoch.rawValue, at: 3)
        try clock.point.bind(to: insert, from: 4)
        try insert.run()
    }

    /// Returns whether the table contains an estimate of the device with id `device`.
    func contains(_ clock: DeviceClock, of device: Int64) throws(SQLiteError) -> Bool {
        defer { find.reset() }
        try find.bind(device, at: 1)
        try find.bind(clock.point.collector.rawValue, at: 2)
        try find.bind(clock.epoch.rawValue, at: 3)
        try find.bind(clock.point.time.microseconds, at: 4)
        return try find.step()
    }

    /// Returns whether a turn of a log, or a run, contains an estimate of the device with id `device`.
    /// - Parameter epoch: the id of its epoch.
    func contains(
        _ point: ClockPoint, epoch: Int64, of device: Int64, in source: RowSource, _ part: Int64
    ) throws(SQLiteError) -> Bool {
        guard let find = findInPart[source] else { return false }
        defer { find.reset() }
        let keys = source.keys(part: part, stream: ClockLog.stream, device: device)
        try find.bind(keys.lowerBound, at: 1)
        try find.bind(keys.upperBound, at: 2)
        try find.bind(epoch, at: 3)
        try find.bind(point.collector.rawValue, at: 4)
        try find.bind(point.time.microseconds, at: 5)
        return try find.step()
    }
}

extension ClockPoint {
    /// Binds the columns of the estimate from `t` on to the parameters from `first` on.
    func bind(to statement: SQLiteStatement, from first: Int) throws(SQLiteError) {
        try statement.bind(time.microseconds, at: first)
        try statement.bind(segment.microseconds, at: first + 1)
        try statement.bind(offset, at: first + 2)
        try statement.bind(Double(skew) / 1000, at: first + 3)
        try statement.bind(bound, at: first + 4)
        try statement.bind(Double(skewBound) / 1000, at: first + 5)
    }
}

extension SQLiteStore {
    /// Appends the estimates that are not stored yet to the log.
    func write(_ estimates: [DeviceClock]) throws(SQLiteError) {
        var resolved: [(device: Int64, index: Int)] = []
        for (index, clock) in estimates.enumerated() { resolved.append((devices.id(of: clock.device), index)) }
        // In the order of their keys, so that SQLite appends them.
        resolved.sort { $0 < $1 }
        for (device, index) in resolved { try write(estimates[index], of: device) }
    }

    private func write(_ clock: DeviceClock, of device: Int64) throws(SQLiteError) {
        guard device <= LogKey.maxDevice else { return try clocks.write(clock, of: device) }
        // A retained presence is received again after each connect.
        guard try !clocks.contains(clock, of: device) else { return }
        let scope = scopes.scope(of: clock.device, device: device, epoch: clock.epoch)
        let epoch = try epochs.id(of: scope, &devices, in: database)
        let time = clock.point.time.microseconds
        let inRuns = runs.runs(with: ClockLog.stream, time...time).map { (source: RowSource.runs, part: $0) }
        for (source, part) in turns(time...time, of: ClockLog.table, device: device) + inRuns
        where try clocks.contains(clock.point, epoch: epoch, of: device, in: source, part) { return }
        try logs[activeLog].append(clock.point, epoch: epoch, device: device)
    }
}
