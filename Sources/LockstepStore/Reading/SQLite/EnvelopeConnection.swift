import LockstepModel
import LockstepSQLite

/// A connection that computes envelopes. The first one of a reader is the reader's own; others are used by threads.
final class EnvelopeConnection {
    let database: SQLiteDatabase
    let extremes: BucketExtremes
    /// Whether minutes are read from their summaries. Tests compare both.
    var usesSummaries = true

    private let waiting: WaitingReader

    init(_ database: SQLiteDatabase, _ waiting: WaitingReader) throws(SQLiteError) {
        self.database = database
        self.waiting = waiting
        extremes = try BucketExtremes(in: database)
    }

    /// Opens another connection to the same store.
    convenience init(path: String) throws(SQLiteError) {
        let database = try SQLiteDatabase(path: path, mode: .readOnly)
        try self.init(database, try WaitingReader(in: database))
    }

    /// Adds the samples of those chunks that this connection claims before others, until none is left.
    ///
    /// All reads see one snapshot. So of each chunk that this connection claims, each sample is either in the table or in
    /// `_waiting`, even if other connections see older or newer snapshots.
    /// - Parameter afterChunk: called with the number of samples so far.
    func scan(
        _ query: EnvelopeQuery, device: Int64, _ chunks: EnvelopeChunks, until cancellation: QueryCancellation?,
        afterChunk: (Int64) throws -> Void = { _ in }
    ) throws {
        let spans = query.spans
        extremes.begin(
            start: spans.origin, width: spans.width, count: query.bucketCount, columns: query.columns.count)
        try database.interruptible(by: cancellation?.interruption) {
            try database.transaction(.deferred) {
                guard let table = try tableStatement(query) else { return }
                let minutes = try spans.haveWholeMinutes && usesSummaries ? minuteStatement(query.stream) : nil
                for statement in [table, minutes] { try statement?.bind(device, at: 1) }
                var (claimed, read): (Int64, Int64) = (0, 0)
                while cancellation?.isCancelled != true, let chunk = chunks.claim() {
                    claimed |= 1 << Int64(chunk)
                    let times = chunks.times(of: chunk)
                    let gaps = try addMinutes(in: times, minutes)
                    let before = extremes.rows
                    for gap in gaps { try run(table, gap) }
                    read += extremes.rows - before
                    try afterChunk(read)
                }
                guard claimed != 0 else { return }
                try add(waiting.stream(query.stream)?.rows(of: device, query.times) ?? [], query, chunks, claimed)
            }
        }
    }

    private func run(_ statement: SQLiteStatement, _ times: Range<Int64>) throws(SQLiteError) {
        try statement.bind(times.lowerBound, at: 2)
        try statement.bind(times.upperBound, at: 3)
        try statement.run()
    }

    /// Adds the summaries of whole minutes in a range of times.
    /// - Returns: the times that have none.
    private func addMinutes(in times: Range<Int64>, _ minutes: SQLiteStatement?) throws(SQLiteError) -> [Range<Int64>] {
        let whole = Minute.whole(in: times)
        guard let minutes, !whole.isEmpty else { return [times] }
        try run(minutes, whole)
        // SQLite reads them in the order of the key, but an aggregate does not promise it.
        return Minute.gaps(in: times, between: extremes.takeSummaries().sorted())
    }

    /// Returns the statement that adds summaries, or nil if the store has none of the stream.
    private func minuteStatement(_ stream: SensorStream) throws(SQLiteError) -> SQLiteStatement? {
        guard try stream.hasMinutes(in: database) else { return nil }
        let values = ["t", "samples"] + stream.extremeColumns.map(\.name)
        return try database.prepare(
            """
            SELECT summary_extremes(\(values.joined(separator: ", "))) FROM \(stream.minutesTable)
            WHERE device_id = ?1 AND t >= ?2 AND t < ?3
            """)
    }

    /// Adds those waiting samples whose chunks are in a bit set.
    private func add(
        _ rows: [WaitingReader.Row], _ query: EnvelopeQuery, _ chunks: EnvelopeChunks, _ claimed: Int64
    ) {
        let columns = query.stream.columns
        let indexes = columns.indices.filter { columns[$0].kind.words == nil }
        for row in rows where claimed >> Int64(chunks.chunk(at: row.time)) & 1 == 1 {
            extremes.add(row.time, indexes.map { row.values[$0] })
        }
    }

    /// Returns the times of the first and last sample in the table, or nil if there is none.
    func extent(_ query: EnvelopeQuery, device: Int64) throws(SQLiteError) -> ClosedRange<Int64>? {
        func time(_ order: String) throws(SQLiteError) -> Int64? {
            let select = try database.prepare(
                """
                SELECT t FROM \(query.stream.rowTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3
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

    /// Returns the statement that adds the samples of a chunk in the table, or nil if the store has no table for the stream.
    private func tableStatement(_ query: EnvelopeQuery) throws(SQLiteError) -> SQLiteStatement? {
        guard let stored = try RowColumns(of: query.stream, in: database) else { return nil }
        let columns = query.stream.columns
        let values = columns.filter { $0.kind.words == nil }.map { stored.order.contains($0.name) ? $0.name : "NULL" }
        return try database.prepare(
            """
            SELECT \(aggregate(values)) FROM \(query.stream.rowTable)
            WHERE device_id = ?1 AND t >= ?2 AND t < ?3
            """)
    }

    private func aggregate(_ values: [String]) -> String {
        "bucket_extremes(\((["t"] + values).joined(separator: ", ")))"
    }
}
