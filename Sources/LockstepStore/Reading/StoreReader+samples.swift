public import LockstepModel

// Rows of streams. Each kind of store reads them in its own way.

extension StoreReader {
    /// Calls `each` for every row of a query, ordered by group, device and time. Memory use does not grow with the result.
    /// - Parameters:
    ///   - stream: the stream to read.
    ///   - detail: the kind of rows: samples, the newest sample only, or aggregates.
    ///   - group: the group to read, or nil for all groups.
    ///   - devices: the ids of the devices to read, or an empty array for all devices.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number of rows over all devices, or nil for no limit.
    ///   - each: receives the rows. An error that it throws ends the query.
    /// - Throws: ``StoreError``, or the error of `each`.
    public func query(
        stream: SensorStream, detail: QueryDetail = .samples, group: GroupID? = nil, devices: [DeviceID] = [],
        from: Timestamp? = nil, to: Timestamp? = nil, limit: Int? = nil, each: (SampleRow) throws -> Void
    ) throws {
        let selected = try reading { try self.devices(group: group, names: devices) }
        var remainingRows = limit ?? .max
        guard remainingRows > 0 else { return }
        try driver.rows(detail, of: stream, selected.map(\.id), timeRange(from, to), until: nil) {
            index, time, values in
            remainingRows -= 1
            try each(SampleRow(device: selected[index].0, time: time, values: values))
            return remainingRows > 0
        }
    }

    /// Calls `each` for every row of a query, in order of time. Memory use does not grow with the result.
    /// - Parameters:
    ///   - query: the query. A device or stream that is not stored has no rows.
    ///   - cancellation: ends the query early.
    ///   - each: receives the time and the values in the order of ``SampleQuery/columns``. NaN stands for null. An error
    ///     that it throws ends the query. It must not start another cancellable query of this reader.
    /// - Returns: whether there are more rows than the limit.
    /// - Throws: ``StoreError``, or the error of `each`.
    @discardableResult
    public func run(
        _ query: SampleQuery, cancellation: QueryCancellation? = nil, each: (Timestamp, [Double]) throws -> Void
    ) throws -> Bool {
        guard let device = try reading(until: cancellation, { try driver.id(of: query.device) }) else { return false }
        var remainingRows = query.limit ?? .max
        var hasMore = false
        try driver.rows(query.detail, of: query.stream, [device], query.times, until: cancellation) { _, time, values in
            guard remainingRows > 0 else {
                hasMore = true
                return false
            }
            remainingRows -= 1
            try each(time, values)
            return true
        }
        return hasMore
    }

    public func merge(
        streams: [SensorStream], devices: [DeviceAddress], from: Timestamp? = nil, to: Timestamp? = nil,
        each: (SampleRow, Int) throws -> Void
    ) throws {
        let known = try reading { try numbered(devices) }
        try driver.merge(streams, known.map(\.id), timeRange(from, to)) { device, stream, time, values in
            try each(SampleRow(device: known[device].address, time: time, values: values), stream)
        }
    }

    public func timeRanges(
        of stream: SensorStream, devices: [DeviceAddress], from: Timestamp? = nil, to: Timestamp? = nil
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        try reading {
            let known = try numbered(devices)
            let ranges = try driver.timeRanges(of: stream, known.map(\.id), timeRange(from, to))
            var result: [DeviceAddress: ClosedRange<Timestamp>] = [:]
            for (address, id) in known {
                result[address] = ranges[id].map {
                    Timestamp(microseconds: $0.lowerBound)...Timestamp(microseconds: $0.upperBound)
                }
            }
            return result
        }
    }

    /// Returns the devices that may be stored, with their ids.
    private func numbered(_ devices: [DeviceAddress]) throws -> [(address: DeviceAddress, id: Int64)] {
        try devices.compactMap { device in try driver.id(of: device).map { (device, $0) } }
    }

    /// Returns the least and greatest values of each column in at most ``EnvelopeQuery/points`` buckets.
    ///
    /// Each sample of the range is counted exactly once. One that is stored during the call may or may not be counted.
    /// - Parameter cancellation: ends the query early.
    /// - Returns: the envelope. It has no buckets if the device or stream is not stored.
    /// - Throws: ``StoreError``, for example with the code ``StoreError/Code/cancelled``.
    public func envelope(
        _ query: EnvelopeQuery, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> Envelope {
        try reading(until: cancellation) {
            let buckets = try driver.id(of: query.device).map {
                try driver.envelope(query, of: $0, until: cancellation)
            }
            return Envelope(columns: query.columns, width: query.width, buckets: buckets ?? [])
        }
    }

    /// Returns every n-th sample of a range, beginning with the first, in order of time. n is the least number with which there are
    /// at most ``EnvelopeQuery/points`` samples. The least and greatest values of positions mean nothing, so this serves them
    /// instead of an envelope. NaN stands for null.
    /// - Parameter cancellation: ends the query early.
    /// - Throws: ``StoreError``, for example with the code ``StoreError/Code/cancelled``.
    public func everyNth(
        _ query: EnvelopeQuery, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [(time: Timestamp, values: [Double])] {
        try reading(until: cancellation) {
            try driver.id(of: query.device).map { try driver.everyNth(query, of: $0) } ?? []
        }
    }
}
