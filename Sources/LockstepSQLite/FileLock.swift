import Glibc

/// An exclusive advisory lock on a path, among all processes that use this type.
///
/// The lock is held on the file `PATH.lock`, beside the file itself and not beside a symbolic link to it if the file exists
/// already. It contains the process id of the holder as text. It is released when this object is deallocated, or when the
/// process ends for any reason. The file remains, so its existence does not mean that the lock is held.
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
        writePID(opened)
    }

    deinit { close(descriptor) }
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
    var buffer = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
}

private func writePID(_ descriptor: Int32) {
    // Ignore errors: the process id is only informative. On a full disk it is missing, but the lock still works.
    guard ftruncate(descriptor, 0) == 0 else { return }
    let text = Array("\(getpid())\n".utf8)
    _ = pwrite(descriptor, text, text.count, 0)
}
