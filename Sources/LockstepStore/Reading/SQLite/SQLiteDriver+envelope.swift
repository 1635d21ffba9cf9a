import LockstepModel
import LockstepSQLite

extension SQLiteDriver {
    func envelope(
        _ query: EnvelopeQuery, of device: Int64, until cancellation: QueryCancellation?
    ) throws -> [Envelope.Bucket] {
        guard
            let cursor = try SpanCursor(query.stream, query.times, query.spans, query.stream.extremeColumns, in: self)
        else { return [] }
        defer { cursor.reset() }
        var buckets: [Envelope.Bucket] = []
        try cursor.start(device: device)
        while let (start, samples, values) = try cursor.nextSpan() {
            try check(cancellation)
            buckets.append(query.bucket(start, samples: samples, values))
        }
        return buckets
    }
}
