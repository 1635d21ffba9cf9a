import LockstepModel
import LockstepSQLite

/// Finds the newest samples of devices, without reading other samples.
struct NewestSamples {
    typealias Row = WaitingReader.Row

    /// The number of samples of a device that are searched for a known value.
    static let maxSearched = 10_000

    let reader: SQLiteDriver

    /// Returns the time of the newest sample of each device in a stream, by device id; of a device of which only summaries are left,
    /// that of its newest minute.
    func times(of stream: SensorStream) throws(SQLiteError) -> [Int64: Int64] {
        guard let waiting = try reader.waiting.stream(stream) else { return [:] }
        var times = try waiting.newestTimes()
        let mayStandAlone = try ExpiredTable.exists(in: reader.database)
        for table in mayStandAlone ? [stream.rowTable, stream.minutesTable] : [stream.rowTable]
        where try !StoreSchema.columns(of: table, in: reader.database).isEmpty {
            let newest = try reader.database.prepare("SELECT max(t) FROM \(table) WHERE device_id = ?1")
            for device in try devices(in: table) {
                try newest.bind(device, at: 1)
                if try newest.step(), let time = newest.optionalInt64(at: 0) {
                    times[device] = max(times[device] ?? time, time)
                }
                newest.reset()
            }
        }
        return times
    }

    /// Returns the newest sample of each device in which a column is known, by device id.
    ///
    /// In the table, it searches the newest ``maxSearched`` samples of a device.
    func rows(of stream: SensorStream, knowing column: String) throws(SQLiteError) -> [Int64: Row] {
        guard let columns = try RowColumns(of: stream, in: reader.database), columns.order.contains(column),
            let waiting = try reader.waiting.stream(stream)
        else { return [:] }
        let kinds = stream.columns.map(\.kind)
        let index = stream.columns.firstIndex { $0.name == column }
        let select = try reader.database.prepare(
            """
            SELECT * FROM (
                SELECT t, \(columns.list) FROM \(stream.rowTable) WHERE device_id = ?1 ORDER BY t DESC
                LIMIT \(Self.maxSearched)
            ) WHERE \(column) IS NOT NULL LIMIT 1
            """)
        var rows: [Int64: Row] = [:]
        for device in try devices(in: stream.rowTable) {
            try select.bind(device, at: 1)
            if try select.step() {
                rows[device] = (select.int64(at: 0), kinds.indices.map { kinds[$0].read(select, at: $0 + 1) })
            }
            select.reset()
        }
        for device in try waiting.newestTimes().keys {
            if let row = try waiting.newest(of: device, .min ..< .max, knowing: index),
                rows[device].map({ $0.time < row.time }) ?? true
            {
                rows[device] = row
            }
        }
        return rows
    }

    /// Returns the ids of the devices with rows in a table, without reading the rows between them.
    private func devices(in table: String) throws(SQLiteError) -> [Int64] {
        let next = try reader.database.prepare(
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
