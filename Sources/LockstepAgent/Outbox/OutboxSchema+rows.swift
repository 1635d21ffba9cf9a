import LockstepModel
import LockstepSQLite

/// Version 2 of the schema: one row for each batch, which also serves as its entry in the journal.
extension OutboxSchema {
    /// Migrates to version 2, except for the views, which the next version creates.
    static func useOneRowPerBatch(_ database: SQLiteDatabase) throws {
        try database.execute(
            """
            ALTER TABLE batches RENAME TO batches_1;
            ALTER TABLE journal RENAME TO journal_1;
            CREATE TABLE entries (
                id INTEGER PRIMARY KEY, -- base of the epoch + seq: in the order of acceptance
                stream TEXT NOT NULL,
                samples INTEGER NOT NULL, -- number of samples in the payload
                newest INTEGER NOT NULL, -- time of the last sample in µs since 1970
                boot INTEGER NOT NULL, -- when the row was written, in µs of the boot clock
                journal INTEGER NOT NULL, -- 1: written with --journal, kept after the acknowledgement
                done INTEGER, -- every entry up to this id is acknowledged or dropped; NULL except in the last of a commit
                unpublished TEXT, -- ranges of seq that were never published, as of this commit; NULL if there are none
                payload BLOB NOT NULL -- as published
            );
            CREATE TABLE epochs (
                base INTEGER PRIMARY KEY, -- its batches have the ids from base + 1 to the base of the next epoch
                epoch TEXT NOT NULL
            );
            CREATE TABLE journaled ( -- entries that are kept only as the journal
                first INTEGER PRIMARY KEY,
                last INTEGER NOT NULL
            );
            """)
        try moveBatches(of: database)
        try database.execute("DROP TABLE batches_1")
        let hasJournal = try database.integer("SELECT EXISTS (SELECT * FROM journal_1)") == 1
        // The journal can be large, so it is not copied.
        if !hasJournal { try database.execute("DROP TABLE journal_1") }
    }

    /// Copies the batches of version 1, whose ids did not depend on their numbers.
    private static func moveBatches(of database: SQLiteDatabase) throws {
        guard let current = try database.text("SELECT value FROM meta WHERE key = 'epoch'") else { return }
        var bases: [(epoch: String, base: Int64)] = []
        var base: Int64 = 0
        let earlier = try database.prepare(
            "SELECT epoch, max(seq) FROM batches_1 WHERE epoch <> ? GROUP BY epoch ORDER BY min(id)")
        try earlier.bind(current, at: 1)
        while try earlier.step() {
            bases.append((earlier.text(at: 0) ?? "", base))
            base += earlier.int64(at: 1)
        }
        // Only the current epoch still grows.
        bases.append((current, base))
        let insert = try database.prepare("INSERT INTO epochs (base, epoch) VALUES (?, ?)")
        for (epoch, base) in bases {
            try insert.bind(base, at: 1)
            try insert.bind(epoch, at: 2)
            try insert.run()
        }
        try database.execute(
            """
            INSERT INTO entries (id, stream, samples, newest, boot, journal, payload)
            SELECT p.base + b.seq, b.stream, b.samples, b.created, 0, 0, b.payload
            FROM batches_1 b JOIN epochs p USING (epoch) ORDER BY 1;
            -- The batches of unknown age.
            UPDATE meta SET value = (
                SELECT ifnull(max(p.base + b.seq), 0) FROM batches_1 b JOIN epochs p USING (epoch) WHERE b.id <= value)
            WHERE key = 'undated';
            -- The saved set of unpublished batches is newer than every row.
            INSERT INTO meta SELECT 'saved', ifnull(max(id), 0) FROM entries;
            """)
    }
}
