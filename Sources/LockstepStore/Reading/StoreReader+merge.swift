public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// Calls `each` for every sample of several streams and devices, in order of time. Samples of equal times are in the
    /// order of devices, then streams. Memory use does not grow with the result, but with the number of devices.
    /// - Parameters:
    ///   - streams: the streams to read.
    ///   - devices: the devices to read. Devices that are not stored are ignored.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - each: receives the rows, each with the index of its stream. An error that it throws ends the query.
    /// - Throws: ``StoreError``, or the error of `each`.
    public func merge(
        streams: [SensorStream], devices: [DeviceAddress], from: Timestamp? = nil, to: Timestamp? = nil,
        each: (SampleRow, Int) throws -> Void
    ) throws {
        let times = timeRange(from, to)
        let ids = try deviceIDs()
        var heads: [Head] = []
        var sources: [Source] = []
        defer { sources.forEach { $0.cursor.reset() } }
        for device in devices {
            guard let id = ids[device] else { continue }
            for index in streams.indices {
                guard
                    let cursor = try converting({
                        try SampleCursor(streams[index], times, newestOnly: false, in: self)
                    })
                else { continue }
                sources.append(Source(device: device, stream: index, cursor: cursor))
                try converting { try cursor.start(device: id) }
                guard let row = try converting({ try cursor.next() }) else { continue }
                heads.append(Head(time: row.time, values: row.values, source: sources.count - 1))
            }
        }
        heads.sort(by: Head.precedes)
        while let head = heads.first {
            let source = sources[head.source]
            try each(SampleRow(device: source.device, time: head.time, values: head.values), source.stream)
            if let row = try converting({ try source.cursor.next() }) {
                heads[0] = Head(time: row.time, values: row.values, source: head.source)
            } else {
                let last = heads.removeLast()
                if !heads.isEmpty { heads[0] = last }
            }
            heads.siftDown()
        }
    }

    /// Returns the times of the oldest and newest sample of a stream in a time range, for each device that has any.
    /// - Parameters:
    ///   - devices: the devices to look for.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func timeRanges(
        of stream: SensorStream, devices: [DeviceAddress], from: Timestamp? = nil, to: Timestamp? = nil
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        let times = timeRange(from, to)
        return try reading {
            guard let waiting = try waiting.stream(stream) else { return [:] }
            let source = "FROM \(stream.rowTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3 ORDER BY t"
            let ends = try database.prepare("SELECT (SELECT t \(source) LIMIT 1), (SELECT t \(source) DESC LIMIT 1)")
            var result: [DeviceAddress: ClosedRange<Timestamp>] = [:]
            let ids = try idsByAddress()
            for device in devices {
                guard let id = ids[device] else { continue }
                try ends.bind(id, at: 1)
                try ends.bind(times.lowerBound, at: 2)
                try ends.bind(times.upperBound, at: 3)
                defer { ends.reset() }
                guard try ends.step() else { continue }
                let stored = [ends.optionalInt64(at: 0), ends.optionalInt64(at: 1)].compactMap(\.self)
                let recent = try waiting.endTimes(of: id, times)
                guard let first = (stored + recent).min(), let last = (stored + recent).max() else { continue }
                result[device] = Timestamp(microseconds: first)...Timestamp(microseconds: last)
            }
            return result
        }
    }

    /// Runs several reads on one consistent snapshot of the store: commits after the first read are not visible.
    ///
    /// During a long snapshot, the write-ahead log of the store grows, because it cannot be checkpointed.
    /// - Throws: ``StoreError`` if the store cannot be read, or the error of `body`.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try database.transaction(.deferred, body)
        } catch let error as SQLiteError {
            throw StoreError(error, path: path)
        }
    }

    private func timeRange(_ from: Timestamp?, _ to: Timestamp?) -> Range<Int64> {
        let start = from?.microseconds ?? .min
        return start..<max(start, to?.microseconds ?? .max)
    }

    private func deviceIDs() throws(StoreError) -> [DeviceAddress: Int64] {
        try converting { try idsByAddress() }
    }

    /// Returns the ids of all devices.
    private func idsByAddress() throws(SQLiteError) -> [DeviceAddress: Int64] {
        Dictionary(try numberedDevices().map { ($0.address, $0.id) }) { first, _ in first }
    }

    private func converting<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }
}

/// The samples of one stream of one device.
private struct Source {
    let device: DeviceAddress
    let stream: Int
    let cursor: SampleCursor
}

/// The next sample of a source.
private struct Head {
    let time: Timestamp
    let values: [Double]
    let source: Int

    static func precedes(_ left: Head, _ right: Head) -> Bool {
        (left.time, left.source) < (right.time, right.source)
    }
}

extension [Head] {
    /// Restores the order of a binary heap after its first element was replaced.
    fileprivate mutating func siftDown() {
        var parent = 0
        while true {
            var least = 2 * parent + 1
            guard least < count else { return }
            if least + 1 < count, Head.precedes(self[least + 1], self[least]) { least += 1 }
            guard Head.precedes(self[least], self[parent]) else { return }
            swapAt(parent, least)
            parent = least
        }
    }
}
