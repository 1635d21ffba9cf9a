import CSQLite
import Synchronization

/// A request to end running statements, which any thread can make.
public final class SQLiteInterruption: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Creates a request that was not made yet.
    public init() {}

    /// Makes the request. It cannot be withdrawn.
    public func interrupt() { flag.store(true, ordering: .relaxed) }

    /// Whether the request was made.
    public var isInterrupted: Bool { flag.load(ordering: .relaxed) }
}

extension SQLiteDatabase {
    /// The number of instructions of SQLite's virtual machine between two checks: far less than a millisecond.
    private static let instructionsPerCheck: Int32 = 2000

    /// Runs `body`. After `interruption` was requested, its statements fail with an error for which
    /// ``SQLiteError/isInterrupted`` is true.
    ///
    /// Calls cannot be nested: the inner call would disable the outer one.
    public func interruptible<Result>(
        by interruption: SQLiteInterruption?, _ body: () throws -> Result
    ) rethrows -> Result {
        guard let interruption else { return try body() }
        return try withExtendedLifetime(interruption) {
            sqlite3_progress_handler(
                connection, Self.instructionsPerCheck,
                { request in
                    guard let request else { return 0 }
                    return Unmanaged<SQLiteInterruption>.fromOpaque(request).takeUnretainedValue().isInterrupted ? 1 : 0
                }, Unmanaged.passUnretained(interruption).toOpaque())
            defer { sqlite3_progress_handler(connection, 0, nil, nil) }
            return try body()
        }
    }
}
