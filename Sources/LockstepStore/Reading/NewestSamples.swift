import LockstepModel
import LockstepSQLite

/// Finds the newest samples of devices in the tables and logs, without reading other samples.
struct NewestSamples {
    typealias Row = LogReader.Row

    /// The number of samples of a device that are searched for a known value.
    static let maxSearched = 10_000

    let database: SQLiteDatabase
    /// The device, or nil for all.
    let device: Int64?

    /// Returns the time of the newest sample of each device in a stream, by device id. It includes the runs.
    /// - Parameter recent: the times of the newest samples in the logs.
    func times(of stream: SensorStream, _ recent: [Int64: Int64]) throws(SQLiteError) -> [Int64: Int64] {
        var times = try mergedTimes(of: stream).merging(recent, uniquingKeysWith: max)
        guard let runs = try runs(of: stream) else { return times }
        for device in try devices() {
            if let row = try runs.newest(of: device, .min ..< .max, after: times[device]) { times[device] = row.time }
        }
        return times
    }

    private func mergedTimes(of stream: SensorStream) throws(SQLiteError) -> [Int64: Int64] {
        let newest = try database.prepare("SELECT max(t) FROM \(stream.mergedTable) WHERE device_id = ?1")
        var times: [Int64: Int64] = [:]
        for device in try mergedDevices(of: stream) {
            try newest.bind(device, at: 1)
            if try newest.step() { times[device] = newest.optionalInt64(at: 0) }
            newest.reset()
        }
        return times
    }

    /// Returns the newest sample of each device in which a column is known, by device id.
    ///
    /// In the table, it searches the newest ``maxSearched`` samples of a device.
    func rows(of stream: SensorStream, knowing column: String) throws(SQLiteError) -> [Int64: Row] {
        let index = stream.columns.firstIndex { $0.name == column }
        guard let columns = try MergedColumns(of: stream, in: database) else { return [:] }
        let kinds = stream.columns.map(\.kind)
        let select = try database.prepare(
            """
            SELECT * FROM (
                SELECT t, \(columns.list) FROM \(stream.mergedTable) WHERE device_id = ?1 ORDER BY t DESC
                LIMIT \(Self.maxSearched)
            ) WHERE \(index.flatMap { columns.names[$0] } ?? "NULL") IS NOT NULL LIMIT 1
            """)
        var rows: [Int64: Row] = [:]
        for device in try mergedDevices(of: stream) {
            try select.bind(device, at: 1)
            if try select.step() {
                rows[device] = (select.int64(at: 0), kinds.indices.map { kinds[$0].readStored(select, at: $0 + 1) })
            }
            select.reset()
        }
        let recent = try LogReader(stream, in: database)?.newest(of: device, knowing: column) ?? [:]
        rows.merge(recent) { $0.time > $1.time ? $0 : $1 }
        guard let runs = try runs(of: stream) else { return rows }
        for device in try devices() {
            if let row = try runs.newest(of: device, .min ..< .max, after: rows[device]?.time, knowing: index) {
                rows[device] = row
            }
        }
        return rows
    }

    /// Returns a reader of the runs, or nil if they have no rows of a stream.
    private func runs(of stream: SensorStream) throws(SQLiteError) -> RunReader? {
        guard let logStream = try LogSchema.find(stream, in: database),
            try database.integer("SELECT count(*) FROM log_runs WHERE stream_id = \(logStream.id)") > 0
        else { return nil }
        return try RunReader(stream, logStream, in: database)
    }

    private func devices() throws(SQLiteError) -> [Int64] {
        if let device { return [device] }
        let select = try database.prepare("SELECT device_id FROM merged_devices")
        var devices: [Int64] = []
        while try select.step() { devices.append(select.int64(at: 0)) }
        return devices
    }

    /// Returns the ids of the devices with merged samples of a stream, without reading the samples between them.
    private func mergedDevices(of stream: SensorStream) throws(SQLiteError) -> [Int64] {
        if let device { return [device] }
        let table = stream.mergedTable
        let next = try database.prepare(
            "SELECT device_id FROM \(table) WHERE device_id > ?1 ORDER BY device_id LIMIT 1")
        var devices: [Int64] = []
        var last = Int64.min
        while true {
            try next.bind(last, at: 1)
            guard try next.step() else { return devices }
            last = next.int64(at: 0)
            devices.append(last)
            next.reset()
        }
    }
}
