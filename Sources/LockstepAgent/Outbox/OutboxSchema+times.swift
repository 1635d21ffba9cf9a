import LockstepSQLite

/// Version 3 of the schema: the age of a batch by the boot clock, and the newest time of each stream.
extension OutboxSchema {
    /// Migrates to version 3. Programs that read the outbox find `batches` and `journal` as views.
    static func recordTimes(_ database: SQLiteDatabase) throws {
        try database.execute(
            """
            DROP VIEW IF EXISTS batches;
            DROP VIEW IF EXISTS journal;
            ALTER TABLE entries RENAME TO entries_2;
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
            INSERT INTO entries (id, stream, samples, newest, boot, journal, done, unpublished, payload)
                SELECT id, stream, samples, created, 0, journal, done, unpublished, payload FROM entries_2 ORDER BY id;
            DROP TABLE entries_2;
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
