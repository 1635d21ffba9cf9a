public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// The time in µs by which estimates before and after a time range are read as well.
    private static let clockMargin: Int64 = 3_600_000_000

    public func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) throws(StoreError) -> [ClockPoint] {
        try reading {
            guard let id = try id(of: device) else { return [] }
            let recent = try recentClocks(of: id)
            let choice = try database.prepare(
                "SELECT collector, count(*) FROM merged_clocks WHERE device_id = ? GROUP BY collector")
            try choice.bind(id, at: 1)
            var counts: [CollectorID: Int64] = [:]
            while try choice.step() {
                if let name = choice.text(at: 0) { counts[CollectorID(unchecked: name)] = choice.int64(at: 1) }
            }
            for point in recent { counts[point.collector, default: 0] += 1 }
            // The first one of those with the most.
            let chosen = counts.min { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            guard let collector = chosen?.key else { return [] }
            let first = from.map { max($0.microseconds, .min + Self.clockMargin) - Self.clockMargin } ?? .min
            let last = to.map { min($0.microseconds, .max - Self.clockMargin) + Self.clockMargin } ?? .max
            let points =
                try mergedClocks(of: id, collector, first, last, timeLine)
                + recent.filter { $0.collector == collector }
            let times = points.map { timeLine.time(of: $0) }
            let before = times.filter { $0 < first }.max()
            let after = times.filter { $0 > last }.min()
            return zip(points, times)
                .filter { ($1 >= first && $1 <= last) || $1 == before || $1 == after }
                .map(\.0).sorted { $0.time < $1.time }
        }
    }

    /// Returns the estimates of a device in the table in a time range, and the nearest ones before and after it.
    private func mergedClocks(
        of device: Int64, _ collector: CollectorID, _ first: Int64, _ last: Int64, _ timeLine: ClockTimeLine
    ) throws(SQLiteError) -> [ClockPoint] {
        let select = try database.prepare(
            """
            SELECT collector, t, segment, offset, skew, bound, skew_bound FROM merged_clocks
            WHERE device_id = ?1 AND collector = ?2 AND (TIME BETWEEN ?3 AND ?4
                OR TIME = (SELECT max(TIME) FROM merged_clocks WHERE device_id = ?1 AND collector = ?2 AND TIME < ?3)
                OR TIME = (SELECT min(TIME) FROM merged_clocks WHERE device_id = ?1 AND collector = ?2 AND TIME > ?4))
            """.replacing("TIME", with: timeLine.expression))
        try select.bind(device, at: 1)
        try select.bind(collector.rawValue, at: 2)
        try select.bind(first, at: 3)
        try select.bind(last, at: 4)
        var points: [ClockPoint] = []
        while try select.step() { points.append(clockPoint(select, at: 0)) }
        return points
    }

    /// Returns the estimates of a device in the logs and runs.
    private func recentClocks(of device: Int64) throws(SQLiteError) -> [ClockPoint] {
        let select = try database.prepare(ClockLog.selectRunsSQL)
        try select.bind(device, at: 1)
        var points = try loggedClocks(of: device)
        while try select.step() { points.append(clockPoint(select, at: 1)) }
        return points
    }

    /// Returns the estimates of a device in the logs.
    ///
    /// For a second device, those of all devices are read and cached until the store changes: one scan of the logs is
    /// faster than a search for each device.
    private func loggedClocks(of device: Int64) throws(SQLiteError) -> [ClockPoint] {
        let version = try database.integer("PRAGMA data_version")
        if let known = recentClocks, known.version == version {
            if let points = known.points { return points[device] ?? [] }
            if known.device != device {
                var points: [Int64: [ClockPoint]] = [:]
                let scan = try database.prepare(ClockLog.selectSQL(ofDevice: false))
                while try scan.step() { points[scan.int64(at: 0), default: []].append(clockPoint(scan, at: 1)) }
                recentClocks = RecentClocks(version: version, device: device, points: points)
                return points[device] ?? []
            }
        }
        recentClocks = RecentClocks(version: version, device: device, points: nil)
        let select = try database.prepare(ClockLog.selectSQL(ofDevice: true))
        try select.bind(device, at: 1)
        var points: [ClockPoint] = []
        while try select.step() { points.append(clockPoint(select, at: 1)) }
        return points
    }

    /// Returns the newest estimate of the clock of each device that has any, ordered by group and device.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)] {
        try reading {
            // One scan of the logs is faster than a search for each device.
            var recent: [Int64: ClockPoint] = [:]
            let scan = try database.prepare(ClockLog.selectSQL(ofDevice: false))
            while try scan.step() {
                let (id, point) = (scan.int64(at: 0), clockPoint(scan, at: 1))
                recent[id] = newer(recent[id], point)
            }
            let select = try newestClockStatement()
            var clocks: [(device: DeviceAddress, point: ClockPoint)] = []
            for device in try numberedDevices() {
                let merged = try newestClock(select, of: device.id)
                if let point = newer(merged, recent[device.id]) { clocks.append((device.address, point)) }
            }
            return clocks
        }
    }

    /// Returns the newest estimate of a device's clock, or nil if there is none.
    func newestClock(of device: Int64) throws(SQLiteError) -> ClockPoint? {
        try loggedClocks(of: device).reduce(try newestClock(try newestClockStatement(), of: device)) { newer($0, $1) }
    }

    /// The newest one in the table and the runs by the collector's clock, because the device's clock may have been set
    /// back.
    private func newestClockStatement() throws(SQLiteError) -> SQLiteStatement {
        let columns = "collector, t, segment, offset, skew, bound, skew_bound"
        return try database.prepare(
            """
            SELECT \(columns), max(t - offset) FROM (
                SELECT \(columns) FROM merged_clocks WHERE device_id = ?1
                UNION ALL SELECT \(columns) FROM (\(ClockLog.selectRunsSQL)))
            """)
    }

    private func newestClock(_ select: SQLiteStatement, of device: Int64) throws(SQLiteError) -> ClockPoint? {
        select.reset()
        try select.bind(device, at: 1)
        return try select.step() && select.text(at: 0) != nil ? clockPoint(select, at: 0) : nil
    }
}

/// The estimates in the logs, which are not merged yet.
struct RecentClocks {
    /// SQLite's number of the store's state.
    let version: Int64
    /// The device that was read last.
    let device: Int64
    /// The estimates of all devices, or nil if only those of one device were read.
    let points: [Int64: [ClockPoint]]?
}

/// Returns the newer of two estimates by the collector's clock.
private func newer(_ first: ClockPoint?, _ second: ClockPoint?) -> ClockPoint? {
    guard let first, let second else { return first ?? second }
    return second.time - second.offset > first.time - first.offset ? second : first
}

/// Reads an estimate from the columns `column` and following of the current row.
func clockPoint(_ row: SQLiteStatement, at column: Int) -> ClockPoint {
    ClockPoint(
        collector: CollectorID(unchecked: row.text(at: column) ?? ""),
        time: Timestamp(microseconds: row.int64(at: column + 1)),
        segment: Timestamp(microseconds: row.int64(at: column + 2)), offset: row.int64(at: column + 3),
        skew: Int64((row.double(at: column + 4) * 1000).rounded()), bound: row.int64(at: column + 5),
        skewBound: Int64((row.double(at: column + 6) * 1000).rounded()))
}
