import LockstepModel
import LockstepSQLite

extension SQLiteDriver {
    func rows(
        _ detail: QueryDetail, of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>,
        until cancellation: QueryCancellation?, _ each: (Int, Timestamp, [Double]) throws -> Bool
    ) throws {
        guard let cursor = try converting({ try cursor(detail, of: stream, times) }) else { return }
        defer { cursor.reset() }
        if detail == .last, devices.count > 1 { return try newest(of: devices, cursor, each) }
        func step<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
            try converting {
                try check(cancellation)
                return try database.interruptible(by: cancellation?.interruption, body)
            }
        }
        for (index, device) in devices.enumerated() {
            try step { try cursor.start(device: device) }
            while let row = try step({ try cursor.next() }) {
                guard try each(index, row.time, row.values) else { return }
            }
        }
    }

    /// Returns a cursor for the rows, or nil if the store has no table for the stream yet.
    private func cursor(
        _ detail: QueryDetail, of stream: SensorStream, _ times: Range<Int64>
    ) throws(SQLiteError) -> (any QueryCursor)? {
        switch detail {
        case .samples: try SampleCursor(stream, times, newestOnly: false, in: self)
        case .last: try SampleCursor(stream, times, newestOnly: true, in: self)
        case .averages(let span):
            try SpanCursor(stream, times, SummarySpans(origin: 0, width: span), stream.averageColumns, in: self)
        }
    }

    /// Reads the newest row of each device, for up to 1,000 devices per transaction: a transaction per device would
    /// take longer than reading the row. The transaction ends before `each` is called, because `each` may take long.
    private func newest(
        of devices: [Int64], _ cursor: any QueryCursor, _ each: (Int, Timestamp, [Double]) throws -> Bool
    ) throws {
        for part in devices.indices.chunks(of: 1000) {
            let rows = try reading(until: nil) {
                defer { cursor.reset() }
                return try part.compactMap { index in
                    try cursor.start(device: devices[index])
                    return try cursor.next().map { (index: index, row: $0) }
                }
            }
            for (index, row) in rows { guard try each(index, row.time, row.values) else { return } }
        }
    }

    func merge(
        _ streams: [SensorStream], _ devices: [Int64], _ times: Range<Int64>,
        _ each: (Int, Int, Timestamp, [Double]) throws -> Void
    ) throws {
        var heads: [Head] = []
        var sources: [Source] = []
        defer { sources.forEach { $0.cursor.reset() } }
        for (device, id) in devices.enumerated() {
            for index in streams.indices {
                guard let cursor = try converting({ try cursor(.samples, of: streams[index], times) }) else { continue }
                sources.append(Source(device: device, stream: index, cursor: cursor))
                try converting { try cursor.start(device: id) }
                guard let row = try converting({ try cursor.next() }) else { continue }
                heads.append(Head(time: row.time, values: row.values, source: sources.count - 1))
            }
        }
        heads.sort(by: Head.precedes)
        while let head = heads.first {
            let source = sources[head.source]
            try each(source.device, source.stream, head.time, head.values)
            if let row = try converting({ try source.cursor.next() }) {
                heads[0] = Head(time: row.time, values: row.values, source: head.source)
            } else {
                let last = heads.removeLast()
                if !heads.isEmpty { heads[0] = last }
            }
            heads.siftDown()
        }
    }

    func timeRanges(
        of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>
    ) throws -> [Int64: ClosedRange<Int64>] {
        guard let waiting = try waiting.stream(stream) else { return [:] }
        let source = "FROM \(stream.rowTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3 ORDER BY t"
        let ends = try database.prepare("SELECT (SELECT t \(source) LIMIT 1), (SELECT t \(source) DESC LIMIT 1)")
        var result: [Int64: ClosedRange<Int64>] = [:]
        for device in devices {
            try ends.bind(device, at: 1)
            try ends.bind(times.lowerBound, at: 2)
            try ends.bind(times.upperBound, at: 3)
            defer { ends.reset() }
            guard try ends.step() else { continue }
            let stored = [ends.optionalInt64(at: 0), ends.optionalInt64(at: 1)].compactMap(\.self)
            let recent = try waiting.endTimes(of: device, times)
            if let first = (stored + recent).min(), let last = (stored + recent).max() { result[device] = first...last }
        }
        return result
    }
}

/// The samples of one stream of one device.
private struct Source {
    let device: Int
    let stream: Int
    let cursor: any QueryCursor
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
