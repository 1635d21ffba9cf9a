import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("SQLiteStatement", .temporaryFolder)
struct StatementTests {
    @Test("values of every type are read back as they were bound")
    func values() throws {
        let database = try newDatabase()
        let select = try database.prepare("SELECT ?, ?, ?, ?, ?")
        try select.bind(Int64.min, at: 1)
        try select.bind(0.1, at: 2)
        try select.bind("a\0ß", at: 3)
        try select.bind([0, 1, 255] as [UInt8], at: 4)
        try select.bindNull(at: 5)
        try #require(try select.step())
        #expect(select.int64(at: 0) == .min)
        #expect(select.double(at: 1) == 0.1)
        #expect(select.text(at: 2) == "a\0ß")
        #expect(select.bytes(at: 3) == [0, 1, 255])
        #expect(select.isNull(at: 4))
        #expect(select.text(at: 4) == nil && select.bytes(at: 4) == nil && select.optionalInt64(at: 4) == nil)
    }

    @Test("NaN is stored as NULL, and NULL is read as NaN")
    func notANumber() throws {
        let database = try newDatabase()
        let select = try database.prepare("SELECT ?")
        try select.bind(Double.nan, at: 1)
        try #require(try select.step())
        #expect(select.isNull(at: 0))
        #expect(select.double(at: 0).isNaN)
    }

    @Test("empty strings and blobs differ from NULL")
    func empty() throws {
        let database = try newDatabase()
        let select = try database.prepare("SELECT ?1, typeof(?1), ?2, typeof(?2)")
        try select.bind([] as [UInt8], at: 1)
        try select.bind("", at: 2)
        try #require(try select.step())
        #expect(select.bytes(at: 0) == [] && select.text(at: 1) == "blob")
        #expect(select.text(at: 2) == "" && select.text(at: 3) == "text")
    }

    @Test("nil is bound as NULL")
    func optionals() throws {
        let database = try newDatabase()
        let select = try database.prepare("SELECT ?1 IS NULL, ?2 IS NULL, ?3 IS NULL, ?4 IS NULL")
        try select.bind(nil as Int64?, at: 1)
        try select.bind(nil as Double?, at: 2)
        try select.bind(nil as String?, at: 3)
        try select.bind(nil as [UInt8]?, at: 4)
        try #require(try select.step())
        #expect((0..<4).allSatisfy { select.int64(at: $0) == 1 })
    }

    @Test("a statement can run again with its bound values")
    func repeatedRun() throws {
        let database = try newDatabase()
        try database.execute("CREATE TABLE number (n)")
        let insert = try database.prepare("INSERT INTO number VALUES (?)", persistent: true)
        try insert.bind(7 as Int64, at: 1)
        try insert.run()
        try insert.run()
        #expect(database.changes == 1 && database.lastInsertRowID == 2)
        #expect(try database.rows("SELECT n FROM number") == ["7", "7"])
    }

    @Test("an error contains the SQL without the values, and the statement can run again")
    func failure() throws {
        let database = try newDatabase()
        try database.execute("CREATE TABLE secret (word TEXT UNIQUE)")
        let insert = try database.prepare("INSERT INTO secret VALUES (?)")
        try insert.bind("hush", at: 1)
        try insert.run()
        let error = try #require(throws: SQLiteError.self) { try insert.run() }
        #expect(error.description.contains("UNIQUE constraint failed"))
        #expect(error.description.contains("INSERT INTO secret"))
        #expect(!error.description.contains("hush"))
        try insert.bind("other", at: 1)
        try insert.run()
    }

    @Test("an invalid parameter index is rejected")
    func invalidIndex() throws {
        let database = try newDatabase()
        let select = try database.prepare("SELECT ?")
        #expect(throws: SQLiteError.self) { try select.bind(1.5, at: 2) }
    }
}
