import LockstepSQLite

/// Why an outbox can't be used.
public struct OutboxError: Error, Hashable, CustomStringConvertible {
    /// Whether the disk is full: freeing space mends it.
    public let isFull: Bool
    public let description: String

    init(path: String, _ error: any Error) {
        switch error {
        case let error as OutboxError:
            self = error
            return
        case FileLockError.held(_, let pid):
            isFull = false
            description =
                "another agent\(pid.map { " (process \($0))" } ?? "") uses the outbox \(path): "
                + "give each agent its own --outbox, and its own --device"
        case let error as SQLiteError where error.isFull:
            isFull = true
            description = "the disk is full: the outbox \(path) can't grow"
        case is NotAnOutboxError:
            isFull = false
            description = "\(path) is the database of another program: name another file with --outbox"
        case let error as SQLiteError where error.isCorrupt:
            isFull = false
            description = "\(path) is damaged or no outbox: move it away to start with a new one"
        case FileLockError.cannotOpen:
            isFull = false
            description = Self.unwritable(path)
        case let error as SQLiteError where error.isReadOnlyOrCannotOpen:
            isFull = false
            description = Self.unwritable(path)
        default:
            isFull = false
            description = "the outbox \(path) can't be used: \(error)"
        }
    }

    private static func unwritable(_ path: String) -> String {
        "the outbox \(path) can't be written: check that its folder exists and who owns it"
    }
}
