import LockstepSQLite

/// The reason why an outbox cannot be used.
public struct OutboxError: Error, Hashable, CustomStringConvertible {
    /// Whether the disk is full, so that freeing space helps.
    public let isFull: Bool
    /// The reason and what to do.
    public let description: String

    /// Creates an error from the failure of a file.
    package init(path: String, _ error: any Error) {
        switch error {
        case let error as OutboxError:
            self = error
            return
        case FileLockError.held(_, let pid):
            isFull = false
            description =
                "another agent\(pid.map { " (process \($0))" } ?? "") uses the outbox '\(path)'. "
                + "Give each agent its own --outbox and --device."
        case let error as SQLiteError where error.isFull:
            isFull = true
            description = "cannot write outbox '\(path)': the disk is full. Free some space."
        case is NotAnOutboxError:
            isFull = false
            description = "'\(path)' is the database of another program. Choose another file with --outbox."
        case let error as ForeignOutboxError:
            isFull = false
            description = error.description(path: path)
        case let error as SQLiteError where error.isCorrupt:
            isFull = false
            description = "'\(path)' is damaged or not an outbox. Move it away to start with a new one."
        case FileLockError.cannotOpen:
            isFull = false
            description = Self.unwritable(path)
        case let error as SQLiteError where error.isReadOnlyOrCannotOpen:
            isFull = false
            description = Self.unwritable(path)
        default:
            isFull = false
            description = "cannot use outbox '\(path)': \(error)"
        }
    }

    private static func unwritable(_ path: String) -> String {
        "cannot write outbox '\(path)'. Check that its folder exists and that you may write to it."
    }
}
