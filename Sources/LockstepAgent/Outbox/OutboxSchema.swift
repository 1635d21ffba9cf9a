import LockstepSQLite

/// The tables of an outbox.
enum OutboxSchema {
    static let migrations = SchemaMigrations([
        { database in
            try database.execute(
                """
                CREATE TABLE meta ( -- epoch, highest seq given, highest session, dropped_samples
                    key TEXT PRIMARY KEY,
                    value NOT NULL
                ) WITHOUT ROWID;
                CREATE TABLE batches ( -- batches that are not acknowledged yet
                    id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of acceptance
                    epoch TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    stream TEXT NOT NULL,
                    samples INTEGER NOT NULL, -- number of samples in the payload
                    created INTEGER NOT NULL, -- µs since 1970
                    payload BLOB NOT NULL, -- as published
                    UNIQUE (epoch, seq)
                );
                CREATE TABLE dropped ( -- batches dropped because of the limits
                    epoch TEXT NOT NULL,
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    PRIMARY KEY (epoch, first)
                ) WITHOUT ROWID;
                CREATE TABLE journal ( -- with --journal: every accepted batch
                    id INTEGER PRIMARY KEY,
                    epoch TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    stream TEXT NOT NULL,
                    payload BLOB NOT NULL
                );
                """)
        },
        { database in try useOneRowPerBatch(database) },
        { database in try recordTimes(database) },
    ])

    /// The page size of new files in bytes.
    ///
    /// Each commit writes a few pages that it changes only in part. They cost least with the smallest page size.
    private static let pageSize: Int64 = 512
    /// The maximum size in bytes of an existing file whose page size is changed at the start.
    private static let maxConvertedSize: Int64 = 1 << 20

    /// Opens or creates the file.
    ///
    /// A batch counts as accepted when its transaction is on disk. This needs `synchronous = FULL`, which costs one
    /// disk sync per window.
    static func open(_ path: String) throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path)
        guard try database.applicationID == applicationID || isEmpty(database) else { throw NotAnOutboxError() }
        // This only affects a file without pages.
        try database.execute("PRAGMA page_size = \(pageSize)")
        try database.useWriteAheadLog()
        try database.execute("PRAGMA synchronous = FULL")
        // Overwriting deleted content needs space in the write-ahead log, which a full disk does not have.
        try database.execute("PRAGMA secure_delete = FAST")
        if try database.applicationID != applicationID { try database.setApplicationID(applicationID) }
        try migrations.apply(to: database)
        try convertPageSize(of: database)
        return database
    }

    /// Changes the page size of an outbox that an earlier version created, if the file has little content.
    ///
    /// Without it the agent only writes more. So if the change fails, for example because a reader has the file open,
    /// the outbox keeps its page size.
    private static func convertPageSize(of database: SQLiteDatabase) throws {
        let size = try database.integer("PRAGMA page_size")
        let pages = try database.integer("PRAGMA page_count") - database.integer("PRAGMA freelist_count")
        guard size != pageSize, size * pages <= maxConvertedSize else { return }
        // In WAL mode, VACUUM keeps the page size. With a rollback journal it is as atomic as any transaction.
        if (try? database.text("PRAGMA journal_mode = DELETE")) == "delete" {
            try? database.execute("PRAGMA page_size = \(pageSize); VACUUM")
        }
        try database.useWriteAheadLog()
    }

    /// The SQLite application id that marks the file as an outbox: `LKOB` in ASCII.
    private static let applicationID: Int32 = 0x4C4B_4F42

    /// Returns whether a file is the outbox of an agent.
    static func isOutbox(_ database: SQLiteDatabase) throws -> Bool { try database.applicationID == applicationID }

    private static func isEmpty(_ database: SQLiteDatabase) throws -> Bool {
        try database.integer("SELECT count(*) FROM sqlite_schema") == 0
    }
}

/// The error for a file that is the database of another program.
package struct NotAnOutboxError: Error {
    /// Creates the error.
    package init() {}
}
