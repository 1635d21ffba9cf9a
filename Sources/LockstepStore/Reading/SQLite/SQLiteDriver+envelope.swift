import LockstepModel
import LockstepSQLite

extension SQLiteDriver {
    /// A second thread with a connection of its own reads a part of a long range.
    func envelope(
        _ query: EnvelopeQuery, of device: Int64?, until cancellation: QueryCancellation?
    ) throws -> Envelope {
        do {
            try check(cancellation)
            guard let device,
                try !StoreSchema.columns(of: query.stream.rowTable, in: database).isEmpty
            else { return Envelope(columns: query.columns, width: query.width, buckets: []) }
            let own = try envelopeConnection(0)
            let extent = try own.extent(query, device: device)
            let chunks = EnvelopeChunks(
                query.times, extent: extent, unit: query.spans.haveWholeMinutes ? Minute.length : 1)
            var helper: EnvelopeConnection?
            var thread: QueryThread<Void>?
            let result = Result {
                try own.scan(query, device: device, chunks, until: cancellation) { samples in
                    guard thread == nil, samples >= samplesBeforeHelp, !chunks.isEmpty else { return }
                    let connection = try envelopeConnection(1)
                    helper = connection
                    thread = QueryThread {
                        try connection.scan(query, device: device, chunks, until: cancellation)
                    }
                }
            }
            if case .failure = result { chunks.close() }
            try thread?.join()
            try result.get()
            try check(cancellation)
            if thread != nil, let helper { own.extremes.add(helper.extremes) }
            let envelope = Envelope(query, own.extremes)
            summarised += own.extremes.summarisedRows
            // The memory of the buckets is needed only once.
            envelopeConnections.forEach { $0.extremes.begin(start: 0, width: 1, count: 0, columns: 0) }
            return envelope
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Returns one of the connections for envelopes. It stays open for later queries.
    private func envelopeConnection(_ index: Int) throws(SQLiteError) -> EnvelopeConnection {
        while envelopeConnections.count <= index {
            envelopeConnections.append(
                envelopeConnections.isEmpty
                    ? try EnvelopeConnection(database, waiting) : try EnvelopeConnection(path: path))
        }
        envelopeConnections[index].usesSummaries = usesSummaries
        return envelopeConnections[index]
    }
}

extension Envelope {
    fileprivate init(_ query: EnvelopeQuery, _ extremes: BucketExtremes) {
        columns = query.columns
        width = query.width
        let used = (0..<extremes.count).filter { extremes.rows(in: $0) > 0 }
        var values: [Double] = []
        values.reserveCapacity(2 * used.count * columns.count)
        for bucket in used {
            for column in columns.indices {
                values.append(extremes.minimum(of: column, in: bucket))
                values.append(extremes.maximum(of: column, in: bucket))
            }
        }
        let size = 2 * columns.count
        let spans = query.spans
        buckets = used.enumerated().map { index, bucket in
            Bucket(
                start: Timestamp(
                    microseconds: max(spans.origin + Int64(bucket) * spans.width, query.times.lowerBound)),
                samples: extremes.rows(in: bucket), values: values[index * size..<(index + 1) * size])
        }
    }
}
