import LockstepModel
import LockstepSQLite

/// One stream's table, for writing: a sample goes in once.
struct SampleTable {
    private let stream: SensorStream
    private let insert: SQLiteStatement
    private let lookup: SampleLookup

    /// Nil if there is no such table.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        guard let lookup = try SampleLookup(stream, in: database) else { return nil }
        self.stream = stream
        self.lookup = lookup
        let names = (["device_id", "t"] + stream.columns.map(\.name)).joined(separator: ", ")
        let places = Array(repeating: "?", count: stream.columns.count + 2).joined(separator: ", ")
        insert = try database.prepare(
            "INSERT INTO \(stream.table) (\(names)) VALUES (\(places)) ON CONFLICT DO NOTHING", persistent: true)
    }

    /// Stores the samples that are new. What the table has with other values goes to `conflicts`.
    func write(
        _ received: ReceivedBatch, device: Int64, in database: SQLiteDatabase, conflicts: inout ConflictTable
    ) throws(SQLiteError) -> IngestResult.Counts {
        let block = received.batch.samples
        var counts = IngestResult.Counts()
        try insert.bind(device, at: 1)
        for index in block.times.indices {
            try insert.bind(block.times[index], at: 2)
            for column in stream.columns.indices {
                try stream.columns[column].kind.bind(block.columns[column][index], to: insert, at: column + 3)
            }
            try insert.run()
            if database.changes == 1 {
                counts.stored += 1
                continue
            }
            let finding = try lookup.find(index, of: block, device: device)
            if case .different(let stored) = finding,
                try conflicts.write(index, of: received, stored: stored, device: device, in: database)
            {
                counts.conflicts += 1
            } else {
                counts.duplicates += 1
            }
        }
        return counts
    }
}
