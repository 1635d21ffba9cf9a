public import LockstepModel
import LockstepSQLite

/// What is stored of one device: state, counters, and the newest samples.
public struct DeviceOverview: Sendable {
    /// A stored sample.
    public struct Sample: Sendable {
        /// The time of the sample.
        public let time: Timestamp
        /// The values in the order of the stream's columns. NaN stands for null.
        public let values: [Double]

        package init(time: Timestamp, values: [Double]) {
            self.time = time
            self.values = values
        }
    }

    /// State, counters, and missing and dropped batches.
    public let summary: DeviceSummary
    /// The last change of the state, or nil if the state is unknown.
    public let transition: LifecycleTransition?
    /// The phase that the agent reported last, or nil if it is unknown.
    public let phase: Phase?
    /// The times of the newest samples, by the name of the stream. Streams without samples are absent.
    public let newest: [String: Timestamp]
    /// The newest sample of the stream `battery`, or nil if there is none.
    public let battery: Sample?
    /// The newest sample of the stream `location` that has a position, or nil if there is none among the newest 10,000.
    public let position: Sample?

    package init(
        summary: DeviceSummary, transition: LifecycleTransition?, phase: Phase?, newest: [String: Timestamp],
        battery: Sample?, position: Sample?
    ) {
        self.summary = summary
        self.transition = transition
        self.phase = phase
        self.newest = newest
        self.battery = battery
        self.position = position
    }
}

extension StoreReader {
    /// Returns an overview of every device, ordered by group and device id.
    ///
    /// Its duration grows with the numbers of devices and streams, and with what waits, but not with the number
    /// of other samples.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func overviews(cancellation: QueryCancellation? = nil) throws(StoreError) -> [DeviceOverview] {
        try reading(until: cancellation) { try overviews(of: nil) }
    }

    /// Returns the overview of one device, or nil if it is not stored.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func overview(
        of device: DeviceAddress, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> DeviceOverview? {
        try reading(until: cancellation) {
            guard let id = try id(of: device) else { return nil }
            return try overviews(of: id).first
        }
    }

    private func overviews(of device: Int64?) throws -> [DeviceOverview] {
        let samples = NewestSamples(reader: self, device: device)
        let newest = try newestTimes(samples)
        let batteries = try samples.rows(of: .battery, knowing: "state")
        let positions = try samples.rows(of: .location, knowing: "lat")
        let lifecycles = try LifecycleTable.readByID(of: device, in: database)
        return try summaries(of: device).map { id, summary in
            DeviceOverview(
                summary: summary, transition: lifecycles[id]?.last, phase: lifecycles[id]?.phase,
                newest: newest[id] ?? [:], battery: batteries[id].map(DeviceOverview.Sample.init),
                position: positions[id].map(DeviceOverview.Sample.init))
        }
    }

    /// Returns the time of the newest sample by device id and name of the stream.
    private func newestTimes(_ samples: NewestSamples) throws -> [Int64: [String: Timestamp]] {
        var result: [Int64: [String: Timestamp]] = [:]
        for stream in try StreamTable.catalog(in: database).streams {
            for (id, time) in try samples.times(of: stream) {
                result[id, default: [:]][stream.name] = Timestamp(microseconds: time)
            }
        }
        return result
    }
}

extension DeviceOverview.Sample {
    fileprivate init(_ row: NewestSamples.Row) {
        self.init(time: Timestamp(microseconds: row.time), values: row.values)
    }
}

extension LifecycleTable {
    /// Returns the last transition and the phase of all devices or of one, by device id.
    fileprivate static func readByID(
        of device: Int64?, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [Int64: (last: LifecycleTransition?, phase: Phase?)] {
        let select = try database.prepare(
            """
            SELECT device_id, phase, state_seq, state, since, previous, reason
            FROM _devices \(device == nil ? "" : "WHERE device_id = ?1")
            """)
        if let device { try select.bind(device, at: 1) }
        var result: [Int64: (last: LifecycleTransition?, phase: Phase?)] = [:]
        while try select.step() {
            result[select.int64(at: 0)] = (transition(select, at: 2), select.text(at: 1).flatMap(Phase.init))
        }
        return result
    }
}

/// Reads a transition from the columns `seq`, `state`, `since`, `previous` and `reason`, or nil if the state is unknown.
func transition(_ statement: SQLiteStatement, at column: Int) -> LifecycleTransition? {
    guard let state = statement.text(at: column + 1).flatMap(LifecycleState.init),
        let since = timestamp(statement, at: column + 2)
    else { return nil }
    return LifecycleTransition(
        from: statement.text(at: column + 3).flatMap(LifecycleState.init), to: state, since: since,
        reason: statement.text(at: column + 4) ?? "", seq: statement.int64(at: column))
}
