import Glibc

/// An exclusive advisory lock on a database file, among all processes that use this type.
///
/// Two locks are held. The one on the file `PATH.lock`, beside the file itself and not beside a symbolic link to it if the
/// file exists already, contains the process id of the holder as text. The other one is on a byte of the database, so that the file is locked
/// however it is named: by a hard link, or by another mount of its folder. That byte is above those on which SQLite has its
/// own locks. Both are released when this object is deallocated, or when the process ends for any reason. The file
/// `PATH.lock` remains, so its existence does not mean that the lock is held.
///
/// Closing any descriptor of a database releases the locks that SQLite has on it in this process. Therefore give the lock
/// to the connection, see ``SQLiteDatabase/lock``, which closes first.
public final class FileLock: Sendable {
    private let descriptor: Int32
    /// The descriptor of the locked file, or nil if this process cannot write to it.
    private let fileDescriptor: Int32?

    /// Acquires the lock on `path` without waiting. The file is created, empty, if it does not exist.
    /// - Throws: ``FileLockError`` if another process holds the lock or a file cannot be used.
    public init(path: String) throws(FileLockError) {
        let file = realPath(path) + ".lock"
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
        do { fileDescriptor = try lockByte(of: path) } catch {
            close(opened)
            throw error
        }
        descriptor = opened
        writePID(opened)
    }

    deinit {
        if let fileDescriptor { close(fileDescriptor) }
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

/// The byte that is locked. SQLite locks up to 512 bytes from 1 GiB.
private let lockedByte: Int64 = 0x4000_0400

/// `F_OFD_SETLK`, which is the same on all architectures. Glibc's module lacks it.
private let setOpenFileLock: Int32 = 37

/// Locks a byte of a file, which is created if it does not exist.
/// - Returns: the descriptor that holds the lock, or nil if this process may not write to the file.
private func lockByte(of path: String) throws(FileLockError) -> Int32? {
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard opened >= 0 else {
        // Nor can SQLite, whose error is more precise.
        if errno == EACCES || errno == EROFS || errno == EPERM, access(path, F_OK) == 0 { return nil }
        throw .cannotOpen(file: path, systemError: errno)
    }
    // It belongs to the descriptor and not to the process, whose other descriptors of the file would release it.
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(lockedByte)
    lock.l_len = 1
    var result: Int32
    repeat { result = fcntl(opened, setOpenFileLock, &lock) } while result != 0 && errno == EINTR
    guard result != 0 else { return opened }
    let systemError = errno
    close(opened)
    if systemError == EAGAIN || systemError == EACCES { throw .held(path: path, by: nil) }
    throw .cannotOpen(file: path, systemError: systemError)
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
