import Glibc

/// An exclusive advisory lock on a path, among all processes that use this type.
///
/// The lock is held on the file `PATH.lock`, beside the file itself and not beside a symbolic link to it if the file exists
/// already. Its first line is the process id of the holder. It is released when this object is deallocated, or when the
/// process ends for any reason. The file remains, so its existence does not mean that the lock is held. Its second line
/// belongs to the user of the lock, see ``note``.
///
/// A file can have several paths: ``DatabaseLock`` locks the file itself.
public final class FileLock: Sendable {
    /// The path of the lock file.
    public let file: String
    private let descriptor: Int32

    /// Acquires the lock on `path` without waiting.
    /// - Throws: ``FileLockError`` if another process holds the lock or the lock file cannot be used.
    public init(path: String) throws(FileLockError) {
        file = realPath(path) + ".lock"
        let opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard opened >= 0 else { throw .cannotOpen(file: file, systemError: errno) }
        var result: Int32
        repeat { result = flock(opened, LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        if result != 0 {
            let systemError = errno
            let holder = readPID(opened)
            close(opened)
            if systemError == EWOULDBLOCK { throw .held(path: path, by: holder) }
            throw .cannotOpen(file: file, systemError: systemError)
        }
        descriptor = opened
        // Ignore errors: the process id is only informative. On a full disk it is missing, but the lock still works.
        _ = write(note)
    }

    /// The second line of the lock file, which stays when the lock is released; empty if there is none.
    public var note: String {
        let lines = readText(descriptor).split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count > 2 ? String(lines[1]) : ""
    }

    /// Replaces the ``note`` and syncs it to the disk.
    /// - Returns: whether this has succeeded.
    public func setNote(_ note: String) -> Bool { write(note) && fsync(descriptor) == 0 }

    private func write(_ note: String) -> Bool {
        let text = Array("\(getpid())\n\(note)\(note.isEmpty ? "" : "\n")".utf8)
        // Truncated last, so that a full disk does not empty the file.
        return pwrite(descriptor, text, text.count, 0) == text.count && ftruncate(descriptor, off_t(text.count)) == 0
    }

    deinit {
        // A child process between fork and exec has the descriptor, too, and would keep the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// The reason why a lock could not be acquired.
public enum FileLockError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process holds the lock. Its process id is nil if it is not known.
    case held(path: String, by: Int32?)
    /// A file cannot be created or locked. `systemError` is the `errno`.
    case cannotOpen(file: String, systemError: Int32)

    /// The file, and the holder or the cause.
    public var description: String {
        switch self {
        case .held(let path, let pid): "\(path) is in use by \(pid.map { "process \($0)" } ?? "another process")"
        case .cannotOpen(let file, let systemError):
            "cannot use the lock file \(file): \(systemErrorText(systemError))"
        }
    }
}

private func readPID(_ descriptor: Int32) -> Int32? {
    Int32(String(readText(descriptor).prefix { $0 != "\n" }))
}

private func readText(_ descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
}
