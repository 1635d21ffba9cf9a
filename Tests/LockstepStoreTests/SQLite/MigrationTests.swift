import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("Schema migrations", .temporaryFolder)
struct MigrationTests {
    private let first: SchemaMigrations.Step = { try $0.execute("CREATE TABLE one (n)") }
    private let second: SchemaMigrations.Step = { try $0.execute("ALTER TABLE one ADD COLUMN m") }

    @Test("only pending steps are applied")
    func pendingSteps() throws {
        let database = try newDatabase()
        try SchemaMigrations([first]).apply(to: database)
        #expect(try database.userVersion == 1)
        try SchemaMigrations([first, second]).apply(to: database)
        try SchemaMigrations([first, second]).apply(to: database)
        #expect(try database.userVersion == 2)
        #expect(try database.rows("SELECT name FROM pragma_table_info('one')") == ["n", "m"])
    }

    @Test("a failed step is rolled back")
    func failing() throws {
        let database = try newDatabase()
        let failing: SchemaMigrations.Step = { database in
            try database.execute("CREATE TABLE two (n)")
            throw TestError()
        }
        #expect(throws: TestError.self) { try SchemaMigrations([first, failing]).apply(to: database) }
        #expect(try database.userVersion == 0, "a new database gets all steps or none")
        #expect(try database.rows("SELECT name FROM sqlite_schema").isEmpty)
        try SchemaMigrations([first]).apply(to: database)
        #expect(throws: TestError.self) { try SchemaMigrations([first, second, failing]).apply(to: database) }
        #expect(try database.userVersion == 2)
        #expect(try database.rows("SELECT name FROM sqlite_schema") == ["one"])
    }

    @Test("a database of a newer program is rejected")
    func newer() throws {
        let database = try newDatabase()
        try database.setUserVersion(7)
        let error = try #require(throws: NewerSchemaError.self) {
            try SchemaMigrations([first]).apply(to: database)
        }
        #expect(
            error.description
                == "written by a newer version of Lockstep (schema 7, this program supports 1): upgrade this program")
    }
}
