import Glibc
public import LockstepStore

/// How long a collector tries to open its store at its start.
///
/// A running collector tries again for ever. At the start, the user should soon see that an address is wrong, but a server
/// that is stopped or restarted at this time must not end the collector.
public enum StorePatience {
    /// The time after the first attempt from which no other one begins.
    static let limit = Duration.seconds(5)

    /// Returns whether the store is opened again after an attempt failed.
    /// - Parameter elapsed: the time since the first attempt began.
    static func allowsRetry(after error: any Error, elapsed: Duration) -> Bool {
        (error as? StoreError)?.mayPass == true && elapsed < limit
    }

    /// Calls `open` until it succeeds, or fails for a reason that does not pass or for too long.
    public static func open(_ open: () throws -> sending any SampleStore) throws -> sending any SampleStore {
        let start = ContinuousClock.now
        while true {
            do { return try open() } catch {
                guard allowsRetry(after: error, elapsed: .now - start) else { throw error }
            }
            // Collectors that create tables at the same time should not try again together.
            usleep(.random(in: 300_000...700_000))
        }
    }
}
