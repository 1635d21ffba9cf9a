import LockstepModel
import LockstepSQLite

/// A connection that computes envelopes. The first one of a reader is the reader's own; others are used by threads.
final class EnvelopeConnection {
    let database: SQLiteDatabase
    let extremes: BucketExtremes

    init(_ database: SQLiteDatabase) throws(SQLiteError) {
        self.database = database
        extremes = try BucketExtremes(in: database)
    }

    /// Opens another connection to the same store.
    convenience init(path: String) throws(SQLiteError) {
        try self.init(try SQLiteDatabase(path: path, mode: .readOnly))
    }

    /// Adds the samples of those chunks that this connection claims before others, until none is left.
    ///
    /// All reads see one snapshot. So of each chunk that this connection claims, each sample is either in the table or in
    /// the logs, even if other connections see older or newer snapshots.
    /// - Parameter afterChunk: called with the number of samples so far.
    func scan(
        _ query: EnvelopeQuery, device: Int64, _ chunks: EnvelopeChunks, until cancellation: QueryCancellation?,
        afterChunk: (Int64) throws -> Void = { _ in }
    ) throws {
        extremes.begin(
            start: query.times.lowerBound, width: query.width, count: query.bucketCount,
            divisors: query.columns.map(\.kind.divisor))
        try database.interruptible(by: cancellation?.interruption) {
            try database.transaction(.deferred) {
                guard let merged = try mergedStatement(query) else { return }
                try merged.bind(device, at: 1)
                var claimed: Int64 = 0
                while cancellation?.isCancelled != true, let chunk = chunks.claim() {
                    claimed |= 1 << Int64(chunk)
                    let times = chunks.times(of: chunk)
                    try merged.bind(times.lowerBound, at: 2)
                    try merged.bind(times.upperBound, at: 3)
                    try merged.run()
                    try afterChunk(extremes.rows)
                }
                guard claimed != 0, let log = try logStatement(query) else { return }
                try log.bind(device, at: 1)
                try log.bind(query.times.lowerBound, at: 2)
                try log.bind(query.times.upperBound, at: 3)
                try log.bind(claimed, at: 4)
                try log.bind(chunks.start, at: 5)
                try log.bind(chunks.length, at: 6)
                try log.bind(Int64(chunks.count - 1), at: 7)
                try log.run()
            }
        }
    }

    /// Returns the times of the first and last merged sample, or nil if there is none.
    func extent(_ query: EnvelopeQuery, device: Int64) throws(SQLiteError) -> ClosedRange<Int64>? {
        func time(_ order: String) throws(SQLiteError) -> Int64? {
            let select = try database.prepare(
                """
                SELECT t FROM \(query.stream.mergedTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3
                ORDER BY t \(order) LIMIT 1
                """)
            try select.bind(device, at: 1)
            try select.bind(query.times.lowerBound, at: 2)
            try select.bind(query.times.upperBound, at: 3)
            return try select.step() ? select.int64(at: 0) : nil
        }
        guard let first = try time("ASC"), let last = try time("DESC") else { return nil }
        return first...max(first, last)
    }

    /// Returns the statement that adds the merged samples of a chunk, or nil if the store has no table for the stream.
    private func mergedStatement(_ query: EnvelopeQuery) throws(SQLiteError) -> SQLiteStatement? {
        guard let stored = try MergedColumns(of: query.stream, in: database) else { return nil }
        let columns = query.stream.columns
        let values = columns.indices.filter { columns[$0].kind.words == nil }.map { stored.names[$0] ?? "NULL" }
        return try database.prepare(
            """
            SELECT \(aggregate(values)) FROM \(query.stream.mergedTable)
            WHERE device_id = ?1 AND t >= ?2 AND t < ?3
            """)
    }

    /// Returns the statement that adds the samples in the logs whose chunks are in the bit set `?4`.
    private func logStatement(_ query: EnvelopeQuery) throws(SQLiteError) -> SQLiteStatement? {
        guard let rows = try LogReader.selectOfDevice(query.stream, in: database) else { return nil }
        let columns = query.stream.columns
        let values = columns.indices.filter { columns[$0].kind.words == nil }.map { "c\($0)" }
        return try database.prepare(
            "SELECT \(aggregate(values)) FROM (\(rows)) WHERE (?4 >> min(max((t - ?5) / ?6, 0), ?7)) & 1")
    }

    private func aggregate(_ values: [String]) -> String {
        "bucket_extremes(\((["t"] + values).joined(separator: ", ")))"
    }
}
