import Glibc
import LockstepSQLite

/// The reason why an outbox cannot be used.
public struct OutboxError: Error, Hashable, CustomStringConvertible {
    /// Whether the disk is full, so that freeing space helps.
    public let isFull: Bool
    /// Whether the file is the database of another program.
    public private(set) var isNotAnOutbox = false
    /// The reason and what to do.
    public let description: String

    /// - Parameters:
    ///   - owner: the program that the outbox belongs to; nil for a program that only reads it.
    init(path: String, owner kind: Outbox.Owner? = nil, _ error: any Error) {
        let (owner, name) = kind?.names ?? ("agent", "--device")
        switch error {
        case let error as OutboxError:
            self = error
            return
        case FileLockError.held(_, let pid):
            isFull = false
            description =
                "another \(owner)\(pid.map { " (process \($0))" } ?? "") uses the outbox '\(path)'. "
                + "Give each \(owner) its own --outbox and \(name)."
        case let error as SQLiteError where error.isFull: self = Self.full(path)
        // The space, or the quota of the user.
        case FileLockError.cannotOpen(_, ENOSPC), FileLockError.cannotOpen(_, EDQUOT): self = Self.full(path)
        case is NotAnOutboxError:
            isFull = false
            isNotAnOutbox = true
            description = "'\(path)' is the database of another program. Choose another file with --outbox."
        case is ReplacedFileError:
            isFull = false
            description =
                "another file has taken the place of the outbox '\(path)'. Move it away: this \(owner) still has its outbox "
                + "open, and then writes it there again. Do not stop it before, or batches are lost."
        case let error as ForeignOutboxError:
            isFull = false
            description = error.description(path: path)
        case let error as SQLiteError where error.isCorrupt:
            isFull = false
            description = "'\(path)' is damaged or not an outbox. Move it away to start with a new one."
        case FileLockError.cannotOpen(_, let systemError):
            isFull = false
            description = Self.unusable(path, systemError)
        case let error as SQLiteError where error.isReadOnlyOrCannotOpen || error.isInputOutputError:
            isFull = false
            description = Self.unusable(path, error.systemError)
        default:
            isFull = false
            description = "cannot use outbox '\(path)': \(error)"
        }
    }

    /// - Throws: an error if the path of an outbox is that of a folder. Otherwise a lock file would be created beside it.
    static func refuseFolder(_ path: String) throws(OutboxError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        let file = path + (path.hasSuffix("/") ? "" : "/") + "outbox.db"
        throw OutboxError(
            isFull: false, description: "'\(path)' is a folder. Name a file with --outbox, such as '\(file)'.")
    }

    private static func full(_ path: String) -> Self {
        Self(isFull: true, description: "cannot write outbox '\(path)': the disk is full. Free some space.")
    }

    private init(isFull: Bool, description: String) {
        self.isFull = isFull
        self.description = description
    }

    /// Returns the text for a file that cannot be opened, read or written.
    /// - Parameter systemError: the `errno`, or 0 if it is unknown.
    private static func unusable(_ path: String, _ systemError: Int32) -> String {
        switch systemError {
        case EACCES, EPERM:
            return "cannot write outbox '\(path)': permission denied. Check that you may write to it and to its folder."
        // SQLite may report the errno of a later call.
        case _ where systemError == EROFS || isOnReadOnlyFileSystem(path):
            return "cannot write outbox '\(path)': its file system is read-only, as after an error of its disk. "
                + "Check the disk (see dmesg) and mount it for writing."
        case 0, ENOENT, ENOTDIR:
            return "cannot write outbox '\(path)'. Check that its folder exists and that you may write to it."
        case EIO, ENXIO, ENODEV, EUCLEAN:
            return "cannot use outbox '\(path)': its disk reports an error "
                + "(\(String(cString: strerror(systemError)))). Check the disk (see dmesg)."
        case EMFILE:
            return "cannot use outbox '\(path)': this process has too many open files. "
                + "Raise its limit (ulimit -n, or LimitNOFILE of its unit)."
        case ENFILE:
            return "cannot use outbox '\(path)': the system has too many open files. "
                + "Close programs, or raise the limit (sysctl fs.file-max)."
        case ENOLCK:
            return "cannot use outbox '\(path)': its file system has no locks. Choose a local disk with --outbox."
        case ELOOP:
            return "cannot use outbox '\(path)': its symbolic links lead to no file. Correct them."
        default: return "cannot use outbox '\(path)': \(String(cString: strerror(systemError)))."
        }
    }

    /// Whether the file system of the file, or of its folder if there is no file, is mounted read-only.
    private static func isOnReadOnlyFileSystem(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = statvfs()
        guard statvfs(path, &status) == 0 || statvfs(folder, &status) == 0 else { return false }
        return status.f_flag & UInt(ST_RDONLY) != 0
    }
}
