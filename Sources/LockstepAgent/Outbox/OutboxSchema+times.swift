import LockstepSQLite

/// Version 3 of the schema: the age of a batch by the boot clock, and the newest time of each stream.
extension OutboxSchema {
    /// Migrates to version 3. Programs that read the outbox find `batches` and `journal` as views.
    static func recordTimes(_ database: SQLiteDatabase) throws {
        try database.execute("DROP VIEW IF EXISTS batches; DROP VIEW IF EXISTS journal")
        // A file of version 2 that was written before. Its rows are not copied, which would need twice the space.
        if try database.integer("SELECT EXISTS (SELECT * FROM pragma_table_info('entries') WHERE name = 'created')")
            == 1
        {
            try database.execute(
                """
                ALTER TABLE entries RENAME COLUMN created TO newest;
                ALTER TABLE entries ADD COLUMN boot INTEGER NOT NULL DEFAULT 0;
                """)
        }
        try database.execute(
            """
            CREATE TABLE newest ( -- newest sample of each stream in the current epoch, except in entries
                stream TEXT PRIMARY KEY,
                time INTEGER NOT NULL -- µs since 1970
            ) WITHOUT ROWID;
            -- The boot clock was not recorded.
            INSERT OR REPLACE INTO meta SELECT 'undated', ifnull(max(id), 0) FROM entries;
            """)
        let hasEarlierJournal = try database.integer(
            "SELECT EXISTS (SELECT * FROM sqlite_schema WHERE name = 'journal_1')")
        let earlier =
            hasEarlierJournal == 1
            ? "SELECT id - (SELECT max(id) FROM journal_1) AS id, epoch, seq, stream, payload FROM journal_1 UNION ALL"
            : ""
        try database.execute(
            """
            CREATE VIEW batches AS -- batches that are not acknowledged yet
                SELECT e.id AS id, p.epoch AS epoch, e.id - p.base AS seq, e.stream AS stream, e.samples AS samples,
                    e.newest AS newest, e.payload AS payload
                FROM entries e JOIN epochs p ON p.base = (SELECT max(base) FROM epochs WHERE base < e.id)
                WHERE e.id > ifnull((SELECT done FROM entries ORDER BY id DESC LIMIT 1), 0)
                    AND e.id > ifnull((SELECT last FROM journaled WHERE first <= e.id ORDER BY first DESC LIMIT 1), 0);
            CREATE VIEW journal AS -- with --journal: every accepted batch
                \(earlier)
                SELECT e.id AS id, p.epoch AS epoch, e.id - p.base AS seq, e.stream AS stream, e.payload AS payload
                FROM entries e JOIN epochs p ON p.base = (SELECT max(base) FROM epochs WHERE base < e.id)
                WHERE e.journal;
            """)
    }
}
