import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("The check of a file", .temporaryFolder)
struct FileCheckTests {
    private func result(_ path: String) throws -> FileCheck.Progress {
        let check = try FileCheck(path: path)
        let deadline = ContinuousClock.now + .seconds(60)
        while !check.progress.isDone, ContinuousClock.now < deadline { check.wait(.seconds(1)) }
        #expect(check.share != nil)
        return check.progress
    }

    @Test("each table of an intact store is checked")
    func intact() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(0..<500)))
        let progress = try result(path)
        let tables = try store.database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
        #expect(progress.checked == ["sqlite_schema"] + tables && progress.rest.isEmpty && progress.findings.isEmpty)
    }

    @Test("damage is reported with the name of the table, and the other tables are checked nevertheless")
    func damaged() throws {
        let (store, path) = try newStore()
        try store.database.execute(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'states'")
        let progress = try result(path)
        #expect(progress.findings.contains { $0.hasPrefix("states: ") }, "\(progress)")
        #expect(progress.checked.contains("streams") && progress.rest.isEmpty && progress.error == nil)
    }
}
