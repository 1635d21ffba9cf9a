public import LockstepModel

extension StoreReader {
    /// Returns whether a device is stored.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func contains(
        _ device: DeviceAddress, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> Bool {
        try reading(until: cancellation) {
            guard let id = try driver.id(of: device) else { return false }
            return try source.integer("SELECT count(*) FROM \(source.dialect.devices) WHERE device_id = \(id)") > 0
        }
    }

    /// Returns changes of a device's life-cycle state, in the order of their numbers.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number of changes. If there are more, the newest are returned.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func transitions(
        of device: DeviceAddress, from: Timestamp? = nil, to: Timestamp? = nil, limit: Int = 1000,
        cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [LifecycleTransition] {
        try reading(until: cancellation) {
            guard let id = try driver.id(of: device) else { return [] }
            let times = timeRange(from, to)
            return try source.rows(
                """
                SELECT seq, state, since, previous, reason FROM states
                WHERE device_id = \(id) AND since >= \(times.lowerBound) AND since < \(times.upperBound)
                ORDER BY seq DESC LIMIT \(max(0, limit))
                """
            ) { row throws(StoreError) in transition(row, seq: 0, at: 1) }.reversed()
        }
    }

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
            guard let id = try driver.id(of: device),
                let samples = try driver.samples(of: .steps, id, timeRange(from, to))
            else { return WalkSummary() }
            let sums = try source.rows(
                """
                SELECT sum(steps), sum(distance), sum(CASE WHEN distance > 0 THEN t - start ELSE NULL END),
                    sum(CASE WHEN distance > 0 THEN distance ELSE NULL END) FROM \(samples)
                """
            ) { row throws(StoreError) in
                WalkSummary(
                    steps: row.optionalInt64(at: 0), distance: known(row.double(at: 1)),
                    averagePace: known(row.double(at: 2) / 1e6 / row.double(at: 3)))
            }
            let newest = try source.rows("SELECT t, pace, cadence FROM \(samples) ORDER BY t DESC LIMIT 1") {
                row throws(StoreError) in
                (time: timestamp(row, at: 0), pace: known(row.double(at: 1)), cadence: known(row.double(at: 2)))
            }.first
            var walk = sums.first ?? WalkSummary()
            (walk.newest, walk.pace, walk.cadence) = (newest?.time, newest?.pace, newest?.cadence)
            guard let floors = try driver.samples(of: .floors, id, timeRange(from, to)) else { return walk }
            let climbed = try source.rows("SELECT sum(ascended), sum(descended) FROM \(floors)") {
                row throws(StoreError) in (row.optionalInt64(at: 0), row.optionalInt64(at: 1))
            }
            if let (up, down) = climbed.first { (walk.floorsAscended, walk.floorsDescended) = (up, down) }
            return walk
        }
    }
}

/// Returns nil for NaN.
private func known(_ value: Double) -> Double? { value.isNaN ? nil : value }
