import LockstepModel
import LockstepSQLite

extension SQLiteDriver {
    func everyNth(_ query: EnvelopeQuery, of device: Int64) throws -> [(time: Timestamp, values: [Double])] {
        guard let cursor = try SampleCursor(query.stream, query.times, newestOnly: false, in: self) else { return [] }
        let stored = try source.integer(
            """
            SELECT count(*) FROM \(query.stream.rowTable)
            WHERE device_id = \(device) AND t >= \(query.times.lowerBound) AND t < \(query.times.upperBound)
            """)
        let recent = try waiting.stream(query.stream)?.rows(of: device, query.times).count ?? 0
        let step = query.step(through: stored + Int64(recent))
        defer { cursor.reset() }
        try cursor.start(device: device)
        var samples: [(time: Timestamp, values: [Double])] = []
        var index: Int64 = 0
        while let sample = try cursor.next() {
            if index % step == 0 { samples.append(sample) }
            index += 1
        }
        return samples
    }
}
