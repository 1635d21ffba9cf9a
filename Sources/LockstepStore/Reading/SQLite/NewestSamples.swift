import LockstepModel
import LockstepSQLite

/// Finds the newest samples of devices, without reading other samples.
struct NewestSamples {
    typealias Row = WaitingReader.Row

    /// The number of samples of a device that are searched for a known value.
    static let maxSearched = 10_000

    let reader: SQLiteDriver

    /// Returns the time of the newest sample of each device in a stream, by device id.
    func times(of stream: SensorStream) throws(SQLiteError) -> [Int64: Int64] {
        guard let waiting = try reader.waiting.stream(stream) else { return [:] }
        let newest = try reader.database.prepare("SELECT max(t) FROM \(stream.rowTable) WHERE device_id = ?1")
        var times = try waiting.newestTimes()
        for device in try devices(in: stream) {
            try newest.bind(device, at: 1)
            if try newest.step(), let time = newest.optionalInt64(at: 0) {
                times[device] = max(times[device] ?? time, time)
            }
            newest.reset()
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
        for device in try devices(in: stream) {
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

    /// Returns the ids of the devices with rows in the table of a stream, without reading the samples between them.
    private func devices(in stream: SensorStream) throws(SQLiteError) -> [Int64] {
        let next = try reader.database.prepare(
            "SELECT device_id FROM \(stream.rowTable) WHERE device_id > ?1 ORDER BY device_id LIMIT 1")
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
