import Glibc
import LockstepSQLite

/// The open file of an outbox. It notices when the file is removed, moved or replaced, and writes it again.
///
/// Without it, batches would be written to a file that no path leads to, and would be lost when the process ends. Until
/// then the open file still has all accepted batches, and so the copy has them, too. The check costs three system calls.
package final class OutboxFile {
    /// What ``restore()`` had to do.
    package enum Restoration: Sendable, CustomStringConvertible {
        /// The file was written again.
        case written
        /// A copy with the same content at the path is used.
        case copyOpened

        /// The text for the log.
        package var description: String {
            switch self {
            case .written: "outbox file was removed or moved, written again"
            case .copyOpened: "outbox file was replaced by a copy with the same batches, which is used now"
            }
        }
    }

    /// The path of the file without symbolic links, as SQLite has its log beside the file itself. So a file that is written
    /// again has the place of the earlier one, and not that of a link to it.
    let path: String
    /// The connection to the file. It changes when ``restore()`` returns a value.
    private(set) var database: SQLiteDatabase

    /// Returns whether a database has the content that the outbox had after its last commit.
    var hasSameContent: (SQLiteDatabase) throws -> Bool = { _ in false }

    private let openDatabase: (String) throws -> SQLiteDatabase
    private var lock: FileLock
    private var lockIdentity: FileIdentity?
    private var identity: FileIdentity?
    private var logIdentity: FileIdentity?

    /// Locks and opens an outbox, or creates it.
    /// - Parameter open: opens the database at a path in WAL mode, or creates it.
    /// - Throws: `OutboxError` for a folder, `FileLockError`, or the error of `open`.
    init(path: String, open: @escaping (String) throws -> SQLiteDatabase) throws {
        try OutboxError.refuseFolder(path)
        openDatabase = open
        lock = try FileLock(path: path)
        lockIdentity = FileIdentity(path: lock.file)
        database = try Self.openLocked(path, open)
        // A link may have led to a file that did not exist before.
        self.path = realPath(path)
        try didOpen()
    }

    /// Checks that the path leads to the open file, and writes the file again if it was removed or moved. A copy with the same
    /// content at the path is used instead, such as after a disk was removed and mounted again. Call it before each write that
    /// must last.
    /// - Returns: nil if nothing was to be done. Otherwise another file is open now, and statements of the earlier one must not be used.
    /// - Throws: `ReplacedFileError` if another file is at the path, `FileLockError` if another process uses the path, or
    ///   `SQLiteError` if the file cannot be written. The next call tries again.
    func restore() throws -> Restoration? {
        if Self.isLost(lock.file, lockIdentity) {
            lock = try FileLock(path: path)
            lockIdentity = FileIdentity(path: lock.file)
        }
        let isFileLost = Self.isLost(path, identity)
        if isFileLost, FileIdentity(path: path) != nil {
            try useCopy()
            return .copyOpened
        }
        guard isFileLost || Self.isLost(path + "-wal", logIdentity) else { return nil }
        try writeAgain()
        return .written
    }

    /// Whether a path no longer leads to a file. A path that cannot be examined does not count: then writes fail, too.
    private static func isLost(_ path: String, _ identity: FileIdentity?) -> Bool {
        let found = FileIdentity(path: path)
        return found == nil ? errno == ENOENT || errno == ENOTDIR : found != identity
    }

    private static func openLocked(_ path: String, _ open: (String) throws -> SQLiteDatabase) throws -> SQLiteDatabase {
        let lock = try DatabaseLock(path: path)
        let database = try open(path)
        database.lock = lock
        return database
    }

    private func didOpen() throws {
        // The first read creates the log.
        _ = try database.integer("SELECT count(*) FROM sqlite_schema")
        identity = FileIdentity(path: path)
        logIdentity = FileIdentity(path: path + "-wal")
    }

    /// Uses the file at the path if it has the content of the open one.
    private func useCopy() throws {
        // SQLite would apply the log of the open file to the other one.
        guard Self.isLost(path + "-wal", logIdentity), let found = try? Self.openLocked(path, openDatabase),
            try hasSameContent(found)
        else { throw ReplacedFileError() }
        try database.keepLogFiles()
        database = found
        try didOpen()
    }

    /// Copies the open file to a new one beside the path, and renames that when it is on disk.
    private func writeAgain() throws {
        let copy = path + ".new"
        unlink(copy)
        // Otherwise, every user could read it. A copy that was not finished takes up space that the disk may not have.
        NewFile.create(copy)
        defer { unlink(copy) }
        let name = SQLiteDatabase.fileName(copy)
        try database.execute(
            "VACUUM INTO '\(name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'")
        try Self.sync(copy)
        // When the old connection closes, it would delete the log of the new one, which has the same path.
        try database.keepLogFiles()
        // A log that was left belongs to the old file.
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        guard rename(copy, path) == 0 else { throw SQLiteError.lastSystemError("rename the outbox") }
        do {
            try Self.sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".")
            database = try Self.openLocked(path, openDatabase)
            try didOpen()
        } catch {
            // Otherwise it would count as another file at the next attempt.
            unlink(path)
            throw error
        }
    }

    /// Waits until a file or a folder is on disk.
    private static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else { throw SQLiteError.lastSystemError("sync the outbox") }
    }
}

/// The error for another file at the path of an open outbox.
struct ReplacedFileError: Error {}

/// A file that reserves disk space. On a full disk it is deleted, so that SQLite has space to delete batches: in WAL
/// mode even a deletion needs space.
struct ReservedSpace {
    private static let minSize: Int64 = 64 << 10

    let path: String
    /// The size in bytes, or 0 if the disk had no space for the file at the start.
    let size: Int64

    /// Reserves up to `maxSize` bytes, and at most an eighth of the free space. An existing file is kept, and may grow.
    init(path: String, maxSize: Int64) {
        self.path = path
        let reserved = Self.fileSize(path) ?? 0
        let wanted = max(reserved, min(maxSize, (Self.free(beside: path) + reserved) / 8))
        size = wanted < Self.minSize ? 0 : wanted
        restore()
    }

    /// Releases what an earlier run has reserved, if the disk has no space even to open the outbox.
    static func releaseIfFull(_ path: String) {
        if free(beside: path) < minSize { unlink(path) }
    }

    /// Whether the disk has more free space than the file needs. Only meaningful while the file is deleted.
    var hasDiskSpace: Bool { Self.free(beside: path) >= 2 * max(size, Self.minSize) }

    /// Returns the free space on the file's disk, in bytes.
    private static func free(beside path: String) -> Int64 {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return 0 }
        let bytes = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return bytes.overflow ? .max : Int64(clamping: bytes.partialValue)
    }

    func remove() { unlink(path) }

    /// Reserves the space again, or as much as is free. The missing part is reserved by a later call.
    func restore() {
        let reserved = Self.fileSize(path)
        guard size > reserved ?? 0 else { return }
        let wanted = min(size, (reserved ?? 0) + Self.free(beside: path))
        guard wanted > reserved ?? 0 else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let isReserved = wanted >= 4096 && posix_fallocate(descriptor, 0, off_t(wanted)) == 0
        if !isReserved, reserved == nil { unlink(path) }
    }

    private static func fileSize(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }
}
