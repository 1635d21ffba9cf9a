import LockstepSQLite

enum OutboxSchema {
    /// - Parameter tables: the SQL of the owner's own tables.
    static func migrations(tables: String) -> SchemaMigrations {
        SchemaMigrations([{ database in try database.execute(first + tables) }])
    }

    private static let first = """
        CREATE TABLE meta (
            key TEXT PRIMARY KEY, -- session: highest number given; last: highest id given, except in entries; calibration: as in a presence; …
            value NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE devices (
            id INTEGER PRIMARY KEY,
            group_name TEXT NOT NULL,
            device TEXT NOT NULL,
            epoch TEXT, -- of its newest batches
            previous_epoch TEXT,
            dropped_samples INTEGER NOT NULL DEFAULT 0,
            UNIQUE (group_name, device)
        );
        CREATE TABLE epochs (
            id INTEGER PRIMARY KEY,
            device INTEGER NOT NULL REFERENCES devices,
            epoch TEXT NOT NULL,
            seq INTEGER NOT NULL DEFAULT 0 -- highest number given, except in entries
        );
        CREATE TABLE newest ( -- newest sample of each stream in the current epoch, except in entries
            device INTEGER NOT NULL REFERENCES devices,
            stream TEXT NOT NULL,
            time INTEGER NOT NULL, -- µs since 1970
            PRIMARY KEY (device, stream)
        ) WITHOUT ROWID;
        CREATE TABLE entries ( -- one row for each batch, which is also its entry in the journal
            id INTEGER PRIMARY KEY, -- in the order of acceptance
            epoch INTEGER NOT NULL REFERENCES epochs,
            seq INTEGER NOT NULL,
            stream TEXT NOT NULL,
            samples INTEGER NOT NULL, -- number of samples in the body
            newest INTEGER NOT NULL, -- time of the last sample in µs since 1970
            boot INTEGER NOT NULL, -- when the row was written, in µs of the boot clock
            journal INTEGER NOT NULL, -- 1: written with --journal, kept after the acknowledgement
            done INTEGER, -- every entry up to this id is acknowledged or dropped; NULL except in the last of a commit
            unpublished TEXT, -- ranges of ids that were never published, as of this commit; NULL if there are none
            body BLOB NOT NULL -- as published, without epoch and seq
        );
        CREATE TABLE journaled ( -- entries that are kept only as the journal
            first INTEGER PRIMARY KEY,
            last INTEGER NOT NULL
        );
        CREATE TABLE dropped ( -- batches dropped because of the limits or a full disk
            epoch INTEGER NOT NULL REFERENCES epochs,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            PRIMARY KEY (epoch, first)
        ) WITHOUT ROWID;
        CREATE VIEW batches AS -- batches that are not acknowledged yet, for other programs
            SELECT e.id AS id, d.group_name AS group_name, d.device AS device, p.epoch AS epoch, e.seq AS seq,
                e.stream AS stream, e.samples AS samples, e.newest AS newest, e.body AS body
            FROM entries e JOIN epochs p ON p.id = e.epoch JOIN devices d ON d.id = p.device
            WHERE e.id > ifnull((SELECT done FROM entries ORDER BY id DESC LIMIT 1), 0)
                AND e.id > ifnull((SELECT last FROM journaled WHERE first <= e.id ORDER BY first DESC LIMIT 1), 0);
        CREATE VIEW journal AS -- with --journal: every accepted batch
            SELECT e.id AS id, p.epoch AS epoch, e.seq AS seq, e.stream AS stream, e.body AS body
            FROM entries e JOIN epochs p ON p.id = e.epoch WHERE e.journal;

        """

    /// Opens or creates the file.
    ///
    /// A batch counts as accepted when its transaction is on disk. This needs `synchronous = FULL`, which costs one
    /// disk sync per window.
    static func open(_ path: String, of owner: Outbox.Owner, tables: String) throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path)
        let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
        guard try database.applicationID == owner.applicationID || isEmpty else { throw NotAnOutboxError() }
        // This only affects a file without pages.
        try database.execute("PRAGMA page_size = \(owner.pageSize)")
        try database.useWriteAheadLog()
        try database.execute("PRAGMA synchronous = FULL")
        // Overwriting deleted content needs space in the write-ahead log, which a full disk does not have.
        try database.execute("PRAGMA secure_delete = FAST")
        if isEmpty { try database.setApplicationID(owner.applicationID) }
        try migrations(tables: tables).apply(to: database)
        return database
    }
}

extension Outbox.Owner {
    /// The SQLite application id that marks the outbox of an agent: `LKOB` in ASCII. That of a gateway is `LKGW`.
    static let agentApplicationID: Int32 = 0x4C4B_4F42

    var applicationID: Int32 {
        switch self {
        case .agent: Self.agentApplicationID
        case .gateway: 0x4C4B_4757
        }
    }

    /// The page size of new files in bytes. Each commit of an agent writes a few pages that it changes only in part, which cost
    /// least with the smallest size. A commit of a gateway fills pages.
    var pageSize: Int {
        switch self {
        case .agent: 512
        case .gateway: 4096
        }
    }
}

/// The error for a file that is the database of another program.
struct NotAnOutboxError: Error {}
