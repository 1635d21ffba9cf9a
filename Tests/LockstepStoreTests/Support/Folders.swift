import FoundationEssentials
import LockstepSQLite
import Testing

@testable import LockstepStore

/// A trait that creates a temporary folder for each test and removes it afterwards.
///
/// It is a trait instead of a function `withFolder { }` because of a bug of Swift 6.3: within a closure, the closure of
/// `#expect(throws:)` can get the symbol of another closure, and the test silently runs the wrong one.
struct TemporaryFolder: TestTrait, SuiteTrait, TestScoping {
    /// The folder of the running test.
    @TaskLocal static var path = ""

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/lockstep-store-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Self.$path.withValue(path, operation: function)
    }
}

extension Trait where Self == TemporaryFolder {
    static var temporaryFolder: TemporaryFolder { TemporaryFolder() }
}

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
