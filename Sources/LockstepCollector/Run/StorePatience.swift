public import LockstepMQTT
public import LockstepStore
public import Logging

/// How long a collector tries to open its store at its start.
///
/// A server that cannot be reached is tried for ever, as in a run and as the broker. What a server refuses is an error soon, so
/// that wrong settings show; but it may be busy, or another collector may change the tables at this time.
public struct StorePatience {
    /// The time after the first refusal from which another one is final.
    static let limit = Duration.seconds(5)

    /// The time of the first refusal since the server could not be reached.
    private var refusedAt: ContinuousClock.Instant?

    /// Returns whether the store is opened again after an attempt failed.
    mutating func allowsRetry(after error: any Error, at now: ContinuousClock.Instant) -> Bool {
        guard let error = error as? StoreError, error.mayPass else { return false }
        if error.code == .unreachable {
            refusedAt = nil
            return true
        }
        let first = refusedAt ?? now
        refusedAt = first
        return now - first < Self.limit
    }

    /// Calls `open` until it succeeds, or fails for a reason that does not pass.
    /// - Parameters:
    ///   - wakeup: signalled when the collector is to stop.
    ///   - didFail: called after each attempt that is repeated.
    /// - Returns: nil if the collector is to stop.
    public static func open(
        logger: Logger, wakeup: Wakeup = Wakeup(), until isStopping: () -> Bool = { false },
        didFail: () -> Void = {}, _ open: () throws -> sending any SampleStore
    ) throws -> sending (any SampleStore)? {
        var patience = StorePatience()
        var logged = ""
        while !isStopping() {
            do { return try open() } catch {
                guard patience.allowsRetry(after: error, at: .now) else { throw error }
                if logged != "\(error)" {
                    logged = "\(error)"
                    logger.warning("cannot open the store, retrying", metadata: ["error": "\(error)"])
                }
            }
            didFail()
            // Collectors that create tables at the same time should not try again together.
            wakeup.wait(for: nil, until: .now + .milliseconds(.random(in: 300...700)))
        }
        return nil
    }
}
