import FoundationEssentials
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

/// Creates a store in the test's folder.
func newStore(_ options: SQLiteStore.Options = .init()) throws -> (store: SQLiteStore, path: String) {
    let path = TemporaryFolder.path + "/store"
    return (try SQLiteStore(path: path, options: options), path)
}

/// Creates an empty database in the test's folder.
func newDatabase() throws -> SQLiteDatabase { try SQLiteDatabase(path: TemporaryFolder.path + "/database") }

/// Runs `body` and returns the ``StoreError`` that it must throw.
func storeError(_ body: () throws -> Void) throws -> StoreError {
    do {
        try body()
    } catch let error as StoreError {
        return error
    }
    Issue.record("expected a StoreError, but no error was thrown")
    throw TestError()
}

/// An error without a cause, for tests of error handling.
struct TestError: Error {}

extension SQLiteDatabase {
    /// Returns all rows of a SELECT as text, with values separated by `|` and NULL as `-`.
    func rows(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var rows: [String] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.text(at: $0) ?? "-" }.joined(separator: "|"))
        }
        return rows
    }
}
