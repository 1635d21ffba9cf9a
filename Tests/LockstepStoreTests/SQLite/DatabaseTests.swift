import LockstepSQLite
import Testing

@Suite("A database", .temporaryFolder)
struct DatabaseTests {
    @Test("keeps nothing of a transaction whose body throws")
    func bodyThrows() throws {
        let database = try newDatabase()
        try database.execute("CREATE TABLE number (n)")
        #expect(throws: NothingThrown.self) {
            try database.transaction {
                try database.execute("INSERT INTO number VALUES (1)")
                throw NothingThrown()
            }
        }
        #expect(!database.isInTransaction)
        #expect(try database.rows("SELECT n FROM number").isEmpty)
    }

    @Test("keeps nothing of a transaction whose commit fails, and goes on")
    func commitFails() throws {
        let database = try newDatabase()
        try database.execute(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
            """)
        #expect(throws: SQLiteError.self) {
            try database.transaction { try database.execute("INSERT INTO child VALUES (1)") }
        }
        #expect(!database.isInTransaction)
        try database.transaction { try database.execute("INSERT INTO parent VALUES (1)") }
        #expect(
            try database.rows("SELECT count(*) FROM child UNION ALL SELECT count(*) FROM parent") == ["0", "1"])
    }

    @Test("says that another connection holds the lock")
    func busy() throws {
        let database = try newDatabase()
        let other = try SQLiteDatabase(path: database.path, mode: .readWrite, busyTimeout: 10)
        try database.execute("BEGIN IMMEDIATE")
        let error = try #require(throws: SQLiteError.self) { try other.transaction {} }
        #expect(error.isBusy)
        try database.execute("COMMIT")
        try other.transaction {}
    }

    @Test("that is read-only or not there says so")
    func notWritable() throws {
        let database = try newDatabase()
        try database.execute("CREATE TABLE number (n)")
        let reader = try SQLiteDatabase(path: database.path, mode: .readOnly)
        #expect(reader.isReadOnly && !database.isReadOnly)
        let denied = try #require(throws: SQLiteError.self) { try reader.execute("INSERT INTO number VALUES (1)") }
        #expect(denied.isReadOnlyOrCannotOpen)
        let absent = try #require(throws: SQLiteError.self) {
            _ = try SQLiteDatabase(path: database.path + ".absent", mode: .readWrite)
        }
        #expect(absent.isReadOnlyOrCannotOpen)
    }

    @Test("copies its log into the file at a checkpoint")
    func checkpoint() throws {
        let database = try newDatabase()
        try database.useWriteAheadLog()
        try database.execute("CREATE TABLE number (n)")
        #expect(try database.checkpoint(truncate: true))
    }

    @Test("reports a full disk by that name")
    func full() throws {
        let exhausted = SQLiteError(code: 778, message: "disk I/O error", sql: "COMMIT", systemError: 28)
        #expect(exhausted.isFull)
        #expect(exhausted.description.hasPrefix("disk I/O error (SQLite code 778, No space left on device) in: COMMIT"))
        #expect(SQLiteError(code: 13, message: "database or disk is full").isFull)
        #expect(!SQLiteError(code: 778, message: "disk I/O error", systemError: 5).isFull)
    }
}
