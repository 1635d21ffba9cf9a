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
        let select = SummarySelect(stream: query.stream, device: device, columns: [], spans: query.spans)
        let parts = try select.groups([query.times], length: query.width, client).flatMap(\.self)
        // The number of samples before each part.
        var offsets: [Int64] = []
        var total: Int64 = 0
        for part in parts {
            offsets.append(total)
            let rows = "\(query.stream.receivedTable) WHERE \(select.condition([part]))"
            total += try client.binary("SELECT toInt64(uniqExact(t)) FROM \(rows)") { try $0.integer() }.first ?? 0
        }
        let step = query.step(through: total)
        let row = SampleSelect(stream: query.stream)
        let columns = (["t"] + query.stream.columns.map(\.name)).joined(separator: ", ")
        return try zip(parts, offsets).flatMap { part, offset in
            let sorted = row.samples(of: device, part.lowerBound...part.upperBound - 1)
            // The alias starts with an underscore, which the names of columns do not.
            let statement = """
                SELECT \(columns) FROM (SELECT rowNumberInAllBlocks() AS _number, \(columns) FROM (\(sorted)))
                WHERE (_number + \(offset)) % \(step) = 0 ORDER BY t
                """
            return try client.binary(step > 1 ? statement : sorted) { reader in
                let (time, values) = try row.row(from: &reader)
                return (time: Timestamp(microseconds: time), values: values)
            }
        }
    }
}
