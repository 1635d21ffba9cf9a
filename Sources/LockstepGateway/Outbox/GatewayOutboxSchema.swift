import LockstepAgent
import LockstepSQLite

/// The tables of a gateway's outbox.
enum GatewayOutboxSchema {
    static let migrations = SchemaMigrations([
        { database in
            try database.execute(
                """
                CREATE TABLE meta ( -- session: highest number given; filter …: topic filter that was ever used
                    key TEXT PRIMARY KEY,
                    value NOT NULL
                ) WITHOUT ROWID;
                CREATE TABLE devices (
                    id INTEGER PRIMARY KEY,
                    group_name TEXT NOT NULL,
                    device TEXT NOT NULL,
                    sender TEXT NOT NULL, -- foreign name of the first sender
                    epoch TEXT, -- the current epoch
                    dropped_samples INTEGER NOT NULL DEFAULT 0,
                    UNIQUE (group_name, device)
                );
                CREATE TABLE epochs (
                    id INTEGER PRIMARY KEY,
                    device INTEGER NOT NULL REFERENCES devices,
                    epoch TEXT NOT NULL
                );
                CREATE TABLE entries ( -- batches that are not acknowledged yet
                    id INTEGER PRIMARY KEY, -- in the order of acceptance
                    epoch INTEGER NOT NULL REFERENCES epochs,
                    seq INTEGER NOT NULL,
                    stream TEXT NOT NULL,
                    samples INTEGER NOT NULL, -- number of samples in the payload
                    late INTEGER NOT NULL, -- 1: published as late
                    payload BLOB NOT NULL -- as published, without "live":false
                );
                CREATE TABLE dropped ( -- batches dropped because of the size limit
                    epoch INTEGER NOT NULL REFERENCES epochs,
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    PRIMARY KEY (epoch, first)
                ) WITHOUT ROWID;
                CREATE VIEW batches AS -- for other programs
                    SELECT e.id AS id, d.group_name AS group_name, d.device AS device, p.epoch AS epoch, e.seq AS seq,
                        e.stream AS stream, e.samples AS samples, e.payload AS payload
                    FROM entries e JOIN epochs p ON p.id = e.epoch JOIN devices d ON d.id = p.device;
                """)
        },
        { database in
            try database.execute(
                """
                CREATE TABLE presences ( -- the last known presence of the sender of each device
                    device INTEGER PRIMARY KEY REFERENCES devices,
                    phase TEXT NOT NULL,
                    reason TEXT NOT NULL,
                    at INTEGER NOT NULL, -- time of the phase in µs since 1970
                    format TEXT NOT NULL, -- of the sender
                    heard_at INTEGER NOT NULL, -- time of the last message in µs since 1970, up to a minute old
                    published INTEGER NOT NULL -- 1: acknowledged by the broker
                );
                """)
        },
    ])

    /// Opens or creates the file. A message counts as accepted when its transaction is on disk, which needs
    /// `synchronous = FULL`.
    static func open(_ path: String) throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path)
        let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
        guard try database.applicationID == applicationID || isEmpty else { throw NotAnOutboxError() }
        try database.useWriteAheadLog()
        try database.execute("PRAGMA synchronous = FULL")
        try database.execute("PRAGMA secure_delete = FAST")
        if try database.applicationID != applicationID { try database.setApplicationID(applicationID) }
        try migrations.apply(to: database)
        return database
    }

    /// The SQLite application id that marks the file as a gateway's outbox: `LKGW` in ASCII.
    private static let applicationID: Int32 = 0x4C4B_4757
}
