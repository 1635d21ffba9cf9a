import Glibc

/// An exclusive advisory lock on a database file itself, however it is named: by a hard link, or by another mount of its
/// folder.
///
/// It is on a byte above those on which SQLite has its own locks, and belongs to a descriptor, not to the process. It is
/// released when this object is deallocated, or when the process ends for any reason.
///
/// Closing any descriptor of a database releases the locks that SQLite has on it in this process. Therefore give the lock
/// to the connection, see ``SQLiteDatabase/lock``, which closes first.
public final class DatabaseLock: Sendable {
    /// The byte that is locked. SQLite locks up to 512 bytes from 1 GiB.
    private static let byte: off_t = 0x4000_0400
    /// `F_OFD_SETLK`, which is the same on all architectures. Glibc's module lacks it.
    private static let setLock: Int32 = 37

    /// The descriptor that holds the lock, or nil if this process may not write to the file.
    private let descriptor: Int32?

    /// Acquires the lock without waiting. The file is created, empty, if it does not exist.
    /// - Throws: ``FileLockError`` if another process holds the lock or the file cannot be used.
    public init(path: String) throws(FileLockError) {
        // Also through a symbolic link to a file that does not exist yet.
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, NewFile.permissions)
        guard opened >= 0 else {
            // Nor can SQLite, whose error is more precise.
            if errno == EACCES || errno == EROFS || errno == EPERM, access(path, F_OK) == 0 {
                descriptor = nil
                return
            }
            throw .cannotOpen(file: path, systemError: errno)
        }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.byte
        lock.l_len = 1
        var result: Int32
        repeat { result = fcntl(opened, Self.setLock, &lock) } while result != 0 && errno == EINTR
        guard result != 0 else {
            descriptor = opened
            return
        }
        let systemError = errno
        close(opened)
        if systemError == EAGAIN || systemError == EACCES { throw .held(path: path, by: nil) }
        throw .cannotOpen(file: path, systemError: systemError)
    }

    deinit { if let descriptor { close(descriptor) } }
}
