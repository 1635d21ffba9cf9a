import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepSQLite

@Suite("SQLiteDatabase", .temporaryFolder)
struct DatabaseTests {
    @Test("a transaction whose body throws is rolled back")
    func bodyThrows() throws {
        let database = try newDatabase()
        try database.execute("CREATE TABLE number (n)")
        #expect(throws: TestError.self) {
            try database.transaction {
                try database.execute("INSERT INTO number VALUES (1)")
                throw TestError()
            }
        }
        #expect(!database.isInTransaction)
        #expect(try database.rows("SELECT n FROM number").isEmpty)
    }

    @Test("other users cannot read a new database, unless the umask is for the group only")
    func permissions() throws {
        #expect([0o000, 0o002, 0o022, 0o026].map { NewFile.permissions(umask: $0) } == [0o600, 0o600, 0o600, 0o600])
        #expect([0o007, 0o027, 0o077].map { NewFile.permissions(umask: $0) } == [0o640, 0o640, 0o600])
        let database = try newDatabase()
        try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE number (n)")
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            #expect(stat(database.path + suffix, &status) == 0)
            #expect(status.st_mode & 0o007 == 0, "\(suffix)")
        }
    }

    @Test("a transaction whose commit fails is rolled back, and the next one works")
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

    @Test("a statement that waits too long for the lock of another connection fails")
    func busy() throws {
        let database = try newDatabase()
        let other = try SQLiteDatabase(path: database.path, mode: .readWrite, busyTimeout: 10)
        try database.execute("BEGIN IMMEDIATE")
        let error = try #require(throws: SQLiteError.self) { try other.transaction {} }
        #expect(error.isBusy)
        try database.execute("COMMIT")
        try other.transaction {}
    }

    @Test("a read-only or missing file is reported")
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

    @Test("a name is always that of a file, also one that SQLite takes for an address or for memory")
    func names() throws {
        for name in ["", ":memory:", "file:a?mode=ro"] { #expect(SQLiteDatabase.fileName(name) == "./" + name) }
        for name in ["a", "/a:b", "./file:a", "FILE:a"] { #expect(SQLiteDatabase.fileName(name) == name) }
        // The folder 'file:' does not exist.
        let path = TemporaryFolder.path + "/other"
        #expect(throws: SQLiteError.self) { _ = try SQLiteDatabase(path: "file:" + path) }
        #expect(access(path, F_OK) != 0)
    }

    @Test("a checkpoint copies the log into the database")
    func checkpoint() throws {
        let database = try newDatabase()
        try database.useWriteAheadLog()
        try database.execute("CREATE TABLE number (n)")
        #expect(try database.checkpoint(truncate: true))
    }

    @Test("a full disk is reported")
    func diskFull() throws {
        let exhausted = SQLiteError(code: 778, message: "disk I/O error", sql: "COMMIT", systemError: 28)
        #expect(exhausted.isFull)
        #expect(exhausted.description.hasPrefix("disk I/O error (SQLite code 778, No space left on device) in: COMMIT"))
        #expect(SQLiteError(code: 13, message: "database or disk is full").isFull)
        #expect(!SQLiteError(code: 778, message: "disk I/O error", systemError: 5).isFull)
    }
}
