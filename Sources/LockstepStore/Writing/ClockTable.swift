import LockstepModel
import LockstepSQLite

/// The table `_clocks` of estimates of devices' clocks.
///
/// Each device sends an estimate every 30 s. Written to the table at once, each of them would rewrite a page of its own, so
/// they wait like samples.
struct ClockTable {
    /// The stream of estimates in `_waiting`. Streams of samples have higher numbers.
    static let streamID: Int64 = 0
    /// The number by which a ``WaitingIndex`` knows the estimates. It is not the index of a stream's table.
    static let table = -1

    /// The columns of an estimate that waits, in SQL.
    static let waitingColumns = """
        device_id, estimate.value ->> 1, epoch, first_t + (estimate.value ->> 0), estimate.value ->> 2,
            estimate.value ->> 3, estimate.value ->> 4, estimate.value ->> 5, estimate.value ->> 6
        """

    private let find: SQLiteStatement
    private let findWaiting: SQLiteStatement
    private let move: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        find = try database.prepare(
            "SELECT 1 FROM _clocks WHERE device_id = ? AND collector = ? AND epoch = ? AND t = ?", persistent: true)
        findWaiting = try database.prepare(
            "SELECT 1 FROM _waiting WHERE n = ?1 AND epoch = ?2 AND first_t = ?3 AND rows ->> '$[0][1]' = ?4",
            persistent: true)
        move = try database.prepare(
            """
            INSERT INTO _clocks (device_id, collector, epoch, t, segment, offset, skew, bound, skew_bound)
            SELECT \(Self.waitingColumns) FROM _waiting, json_each(rows) AS estimate WHERE n = ? ON CONFLICT DO NOTHING
            """, persistent: true)
    }

    /// Returns an estimate as the JSON of a row in `_waiting`.
    static func json(_ point: ClockPoint) -> [UInt8] {
        let values = [
            "0", "\"\(point.collector.rawValue)\"", "\(point.segment.microseconds)", "\(point.offset)",
            "\(Double(point.skew) / 1000)", "\(point.bound)", "\(Double(point.skewBound) / 1000)",
        ]
        return Array("[[\(values.joined(separator: ","))]]".utf8)
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

    /// Returns whether a row of `_waiting` is an estimate.
    func contains(_ clock: DeviceClock, in row: Int64) throws(SQLiteError) -> Bool {
        defer { findWaiting.reset() }
        try findWaiting.bind(row, at: 1)
        try findWaiting.bind(clock.epoch.rawValue, at: 2)
        try findWaiting.bind(clock.point.time.microseconds, at: 3)
        try findWaiting.bind(clock.point.collector.rawValue, at: 4)
        return try findWaiting.step()
    }

    /// Moves the estimate in a row of `_waiting` to the table.
    func move(_ row: Int64) throws(SQLiteError) {
        try move.bind(row, at: 1)
        try move.run()
    }
}

extension SQLiteStore {
    /// Appends the estimates that are not stored yet.
    func write(_ estimates: [DeviceClock]) throws(SQLiteError) {
        for clock in estimates {
            let device = devices.id(of: clock.device)
            // A retained presence is received again after each connect.
            guard try !clocks.contains(clock, of: device) else { continue }
            let time = clock.point.time.microseconds
            var isKnown = false
            for row in waiting.rows(of: ClockTable.table, device: device, overlapping: time...time) where !isKnown {
                isKnown = try clocks.contains(clock, in: row.n)
            }
            guard !isKnown else { continue }
            var receipt = WaitingTable.Receipt(device: device, received: nil)
            receipt.epoch = clock.epoch
            receipt.stream = ClockTable.streamID
            receipt.table = ClockTable.table
            receipt.times = time...time
            try waiting.append(receipt, rows: ClockTable.json(clock.point))
        }
    }
}
