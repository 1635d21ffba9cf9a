import LockstepSQLite

/// A request to end a query early, which any thread can make, for example when a client has gone away.
///
/// The query then throws a ``StoreError`` with the code ``StoreError/Code/cancelled`` within about a millisecond, also
/// while it searches for rows.
public final class QueryCancellation: Sendable {
    let interruption = SQLiteInterruption()

    /// Creates a request that was not made yet.
    public init() {}

    /// Ends the queries with this cancellation: running ones, and those that start later.
    public func cancel() { interruption.interrupt() }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { interruption.isInterrupted }
}

extension StoreReader {
    /// Runs several reads on one consistent snapshot of the store, until the cancellation.
    func reading<Result>(
        until cancellation: QueryCancellation?, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        do {
            try check(cancellation)
            return try database.interruptible(by: cancellation?.interruption) {
                try reading(body)
            }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// - Throws: ``StoreError`` if the query was cancelled. Short statements end before SQLite checks it.
    func check(_ cancellation: QueryCancellation?) throws(StoreError) {
        guard cancellation?.isCancelled != true else {
            throw StoreError(.cancelled, "the query of \(path) was cancelled")
        }
    }
}
