public import LockstepModel
import LockstepSQLite

/// The steps of one device in a time range. A value is nil if it is unknown.
public struct WalkSummary: Hashable, Sendable {
    /// The number of steps.
    public var steps: Int64?
    /// The distance walked, in m.
    public var distance: Double?
    /// The duration of the intervals with a distance divided by that distance, in s/m.
    public var averagePace: Double?
    /// The pace of the newest sample in the range, in s/m.
    public var pace: Double?
    /// The cadence of the newest sample in the range, in steps/s.
    public var cadence: Double?
    /// The time of the newest sample in the range.
    public var newest: Timestamp?

    package init(
        steps: Int64? = nil, distance: Double? = nil, averagePace: Double? = nil, pace: Double? = nil,
        cadence: Double? = nil, newest: Timestamp? = nil
    ) {
        self.steps = steps
        self.distance = distance
        self.averagePace = averagePace
        self.pace = pace
        self.cadence = cadence
        self.newest = newest
    }
}

extension StoreReader {
    /// Returns the sums and the newest values of the stream `steps` of a device.
    ///
    /// A sample counts if its time, which is the end of its interval, is in the range.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func walk(
        of device: DeviceAddress, from: Timestamp? = nil, to: Timestamp? = nil, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> WalkSummary {
        try reading(until: cancellation) {
            let table = SensorStream.steps.table
            guard let id = try id(of: device), try !StoreSchema.columns(of: table, in: database).isEmpty else {
                return WalkSummary()
            }
            let rows = "FROM \(table) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
            let sums = try database.prepare(
                """
                SELECT sum(steps), sum(distance),
                    sum(t - start) FILTER (WHERE distance > 0), sum(distance) FILTER (WHERE distance > 0)
                \(rows)
                """)
            let newest = try database.prepare("SELECT t, pace, cadence \(rows) ORDER BY t DESC LIMIT 1")
            for statement in [sums, newest] {
                try statement.bind(id, at: 1)
                try statement.bind(from?.microseconds ?? .min, at: 2)
                try statement.bind(to?.microseconds ?? .max, at: 3)
            }
            var walk = WalkSummary()
            if try sums.step() {
                walk.steps = sums.optionalInt64(at: 0)
                walk.distance = sums.optionalDouble(at: 1)
                if let time = sums.optionalDouble(at: 2), let distance = sums.optionalDouble(at: 3) {
                    walk.averagePace = time / 1e6 / distance
                }
            }
            if try newest.step() {
                walk.newest = timestamp(newest, at: 0)
                walk.pace = newest.optionalDouble(at: 1)
                walk.cadence = newest.optionalDouble(at: 2)
            }
            return walk
        }
    }
}

extension SQLiteStatement {
    /// Returns a number, or nil for NULL.
    fileprivate func optionalDouble(at column: Int) -> Double? { isNull(at: column) ? nil : double(at: column) }
}
