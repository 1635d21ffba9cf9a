import LockstepModel
import LockstepSQLite

extension SQLiteDriver {
    func everyNth(_ query: EnvelopeQuery, of device: Int64) throws -> ThinnedSamples {
        guard let columns = try RowColumns(of: query.stream, in: database)?.list
        else { return ThinnedSamples(step: 1, samples: []) }
        let rows = "FROM \(query.stream.rowTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
        let count = try database.prepare("SELECT count(*) \(rows)")
        let select = try database.prepare("SELECT t, \(columns) \(rows) ORDER BY t")
        for statement in [count, select] {
            try statement.bind(device, at: 1)
            try statement.bind(query.times.lowerBound, at: 2)
            try statement.bind(query.times.upperBound, at: 3)
        }
        var recent = try waiting.stream(query.stream)?.rows(of: device, query.times)[...] ?? []
        let total = Int64(recent.count) + (try count.step() ? count.int64(at: 0) : 0)
        let points = Int64(max(1, query.points))
        let step = max(1, (total + points - 1) / points)
        var samples: [(time: Timestamp, values: [Double])] = []
        var index: Int64 = 0
        func add(_ time: Int64, _ values: () -> [Double]) {
            if index % step == 0 { samples.append((Timestamp(microseconds: time), values())) }
            index += 1
        }
        let kinds = query.stream.columns.map(\.kind)
        while try select.step() {
            let time = select.int64(at: 0)
            while let row = recent.first, row.time < time {
                add(row.time) { row.values }
                recent.removeFirst()
            }
            add(time) { kinds.indices.map { kinds[$0].read(select, at: $0 + 1) } }
        }
        for row in recent { add(row.time) { row.values } }
        return ThinnedSamples(step: step, samples: samples)
    }
}
