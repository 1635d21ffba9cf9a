public import LockstepModel
import LockstepSQLite

extension SensorStream {
    /// Whether the samples are positions. Their least and greatest values mean nothing, so use
    /// ``StoreReader/everyNth(_:cancellation:)`` instead of an envelope.
    public var hasPositions: Bool { columns.contains { $0.aggregate == .meanLongitude } }
}

/// Every n-th sample of a stream in a time range.
public struct ThinnedSamples: Sendable {
    /// n: 1 if the samples are all of the range.
    public let step: Int64
    /// The samples, in order of time. NaN stands for null.
    public let samples: [(time: Timestamp, values: [Double])]

    package init(step: Int64, samples: [(time: Timestamp, values: [Double])]) {
        self.step = step
        self.samples = samples
    }
}

extension StoreReader {
    /// Returns every n-th sample of a range, beginning with the first. n is the least number with which there are at most
    /// ``EnvelopeQuery/points`` samples.
    /// - Parameter cancellation: ends the query early.
    /// - Throws: ``StoreError``, for example with the code ``StoreError/Code/cancelled``.
    public func everyNth(
        _ query: EnvelopeQuery, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> ThinnedSamples {
        try reading(until: cancellation) {
            guard let device = try id(of: query.device),
                let columns = try RowColumns(of: query.stream, in: database)?.list
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
}
