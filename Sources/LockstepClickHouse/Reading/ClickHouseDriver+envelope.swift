import LockstepModel
import LockstepStore

// Summaries of long time ranges for plots. The server computes them, in parts of a limited number of rows: to show each
// sample once, it has to sort the rows of a part.

extension ClickHouseDriver {
    func envelope(
        _ query: EnvelopeQuery, of device: Int64, until cancellation: QueryCancellation?
    ) throws -> [Envelope.Bucket] {
        guard try hasTable(of: query.stream) else { return [] }
        let select = SummarySelect(
            stream: query.stream, device: device, columns: query.stream.extremeColumns, spans: query.spans)
        var buckets: [Envelope.Bucket] = []
        try summaries(select, query.times) { row in
            buckets.append(query.bucket(row.start, samples: row.samples, row.values))
            return true
        }
        return buckets
    }

    func everyNth(_ query: EnvelopeQuery, of device: Int64) throws -> [(time: Timestamp, values: [Double])] {
        guard try hasTable(of: query.stream) else { return [] }
        let select = EnvelopeSelect(query, device: device)
        let parts = select.parts(
            try client.binary(select.rowCounts) { reader in (try reader.integer(), try reader.integer()) })
        // The number of samples before each part.
        var offsets: [Int64] = []
        var total: Int64 = 0
        for part in parts {
            offsets.append(total)
            total += try client.binary(select.count(in: part.times)) { try $0.integer() }.first ?? 0
        }
        let step = query.step(through: total)
        return try zip(parts, offsets).flatMap { part, offset in
            try client.binary(select.samples(in: part.times, step: step, offset: offset)) { reader in
                let (time, values) = try select.samples.row(from: &reader)
                return (time: Timestamp(microseconds: time), values: values)
            }
        }
    }
}
