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
