import LockstepModel
public import LockstepStore

// Summaries of long time ranges for plots. The server computes them, in parts of a limited number of rows: to show each
// sample once, it has to sort the rows of a part.

extension ClickHouseReader {
    /// The length of a bucket in µs from which its minutes are used. A bucket seldom starts with a minute, so that the
    /// samples at both of its ends have to be read as well.
    private static let minBucket: Int64 = 10 * Minute.length

    public func envelope(
        _ query: EnvelopeQuery, cancellation: QueryCancellation?
    ) throws(StoreError) -> Envelope {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        var buckets: [Envelope.Bucket] = []
        if try hasTable(of: query.stream) {
            let select = SummarySelect(
                stream: query.stream, device: DeviceRecord.id(of: query.device), columns: query.stream.extremeColumns,
                origin: query.times.lowerBound, width: query.width)
            do {
                try summaries(select, query.times, minWidth: Self.minBucket) { row in
                    buckets.append(
                        Envelope.Bucket(
                            start: Timestamp(microseconds: row.start), samples: row.samples, values: row.values[...]))
                    return true
                }
            } catch { throw error as? StoreError ?? StoreError(.other, "\(error)") }
        }
        return Envelope(columns: query.columns, width: query.width, buckets: buckets)
    }

    public func everyNth(
        _ query: EnvelopeQuery, cancellation: QueryCancellation?
    ) throws(StoreError) -> ThinnedSamples {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        guard try hasTable(of: query.stream) else { return ThinnedSamples(step: 1, samples: []) }
        let select = EnvelopeSelect(query)
        let parts = try parts(of: select)
        // The number of samples before each part.
        var offsets: [Int64] = []
        var total: Int64 = 0
        for part in parts {
            offsets.append(total)
            total += try client.rows(select.count(in: part.times)).first?[0].flatMap { Int64($0) } ?? 0
        }
        let points = Int64(max(1, query.points))
        let step = max(1, (total + points - 1) / points)
        var samples: [(time: Timestamp, values: [Double])] = []
        for (part, offset) in zip(parts, offsets) {
            var reader = RowBinaryReader(
                try client.binary(select.samples(in: part.times, step: step, offset: offset)))
            do {
                while !reader.isAtEnd {
                    let (time, values) = try select.samples.row(from: &reader)
                    samples.append((Timestamp(microseconds: time), values))
                }
            } catch { throw truncated }
        }
        return ThinnedSamples(step: step, samples: samples)
    }

    /// Returns the parts of a query's time range: whole buckets, together of at most ``EnvelopeSelect/rowsOfPart`` rows if a
    /// single bucket does not have more.
    private func parts(of select: EnvelopeSelect) throws(StoreError) -> [EnvelopeSelect.Part] {
        var reader = RowBinaryReader(try client.binary(select.rowCounts))
        var counts: [(bucket: Int64, rows: Int64)] = []
        do {
            while !reader.isAtEnd { counts.append((try reader.integer(), try reader.integer())) }
        } catch { throw truncated }
        return select.parts(counts)
    }
}
