import Glibc
import LockstepModel
import LockstepSQLite

/// A copy of a store in one file, made while a collector may write to the store.
///
/// The copy gets its name only when it is complete, checked and on the disk.
public struct StoreBackup {
    /// What was copied.
    public struct Summary: Hashable, Sendable {
        /// The size of the copy in bytes.
        public var bytes: Int64
        /// The number of devices in the copy.
        public var devices: Int
        /// The number of samples in the copy.
        public var samples: Int64
    }

    /// The error thrown by the closure of ``run(replacing:progress:)`` to end the copy.
    public struct Cancelled: Error {
        /// Creates the error.
        public init() {}
    }

    private let source: String
    private let target: String
    private var part: String { target + ".part" }
    private var folder: String {
        target.lastIndex(of: "/").map { $0 == target.startIndex ? "/" : String(target[..<$0]) } ?? "."
    }

    /// - Parameters:
    ///   - source: the path of the store.
    ///   - target: the path of the copy.
    public init(of source: String, to target: String) {
        self.source = source
        // A symbolic link stays, and the file that it names is replaced.
        self.target = realPath(target)
    }

    /// Makes the copy.
    /// - Parameters:
    ///   - replacing: whether a file with the name of the copy is replaced.
    ///   - progress: called several times with the numbers of copied and of all bytes. It may throw ``Cancelled``.
    /// - Throws: ``StoreError``, or ``Cancelled``. Nothing is left then, and a file with the name of the copy is unchanged.
    public func run(replacing: Bool, progress: (Int64, Int64) throws -> Void) throws -> Summary {
        try checkFolder(of: target)
        guard realPath(source) != target else {
            throw StoreError(.other, "\(target) is the store itself: choose another file for the copy")
        }
        // A file that does not exist has no real path, but its folder has.
        let name = target.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        let place = realPath(folder + "/") + "/" + name
        for suffix in ["-wal", "-shm", "-journal", ".lock", ".part"] {
            guard place != realPath(source) + suffix, realPath(source) != place + suffix else {
                throw StoreError(
                    .other, "\(target) has the name of a side file of the store: choose another file for the copy")
            }
        }
        var status = stat()
        guard stat(target, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(.other, "\(target) is not a regular file: choose another file for the copy")
        }
        // Readable at all, and a store of this version.
        _ = try StoreReader(path: source)
        guard replacing || access(target, F_OK) != 0 else {
            throw StoreError(.other, "\(target) exists: choose another file, or replace it with --force")
        }
        do {
            // A collector has this file as soon as it uses the store. It must not run while its store is replaced.
            let lock = access(target + ".lock", F_OK) == 0 ? try FileLock(path: target) : nil
            // A person may have deleted that file.
            let databaseLock = access(target, F_OK) == 0 ? try DatabaseLock(path: target) : nil
            defer { withExtendedLifetime((lock, databaseLock)) {} }
            let partLock = try lockPart()
            defer { withExtendedLifetime(partLock) {} }
            do {
                try copy(progress)
                let summary = try check()
                try publish()
                return summary
            } catch {
                removePart()
                throw error
            }
        } catch let error as FileLockError {
            if case .held(_, let pid) = error {
                let holder = pid.map { " (process \($0))" } ?? ""
                throw StoreError(
                    .inUse, "\(target) is in use by a collector\(holder): stop it, or choose another file")
            }
            throw StoreError(error, path: target)
        }
    }

    private func copy(_ progress: (Int64, Int64) throws -> Void) throws {
        let database: SQLiteDatabase
        let pageSize: Int64
        do {
            database = try SQLiteDatabase(path: source, mode: .readOnly)
            pageSize = try database.integer("PRAGMA page_size")
        } catch { throw StoreError(error, path: source) }
        do {
            let copy = try SQLiteDatabase(path: part)
            try copy.execute("PRAGMA synchronous = OFF")
            try database.copy(to: copy) { try progress(Int64($0) * pageSize, Int64($1) * pageSize) }
            // A single file, which is readable in a folder that cannot be written. A collector uses a log again.
            try copy.execute("PRAGMA journal_mode = DELETE")
            try StoreSchema.showTablesOnly(in: copy)
            try StoreFile.record(part, nil, in: copy)
        } catch let error as Cancelled {
            throw error
        } catch let error as SQLiteError where error.isFull {
            throw StoreError(
                .full,
                "no space left on the disk of \(target), nothing was written: free some space, or choose another disk")
        } catch let error as SQLiteError where error.isCorrupt {
            throw StoreError(error, path: source)
        } catch {
            throw StoreError(error, path: target)
        }
    }

    /// Checks the file, and that devices and batch numbers can be read.
    private func check() throws(StoreError) -> Summary {
        let reader = try StoreReader(path: part)
        let findings = try reader.integrityCheck()
        guard findings.isEmpty else {
            throw StoreError(
                .corrupt,
                "the copy of \(source) is damaged, so it was deleted: \(findings[0]). Check the store with 'lockstep verify --file'"
            )
        }
        let devices = try reader.devices()
        var status = stat()
        guard stat(part, &status) == 0 else { throw systemError("cannot read", part) }
        return Summary(
            bytes: Int64(status.st_size), devices: devices.count, samples: devices.reduce(0) { $0 + $1.samples })
    }

    /// Syncs the copy and gives it its name.
    private func publish() throws(StoreError) {
        try sync(part)
        // A log of the replaced file would be applied to the copy. Without it, the replaced file is only older.
        for suffix in ["-wal", "-shm", "-journal"] { unlink(target + suffix) }
        guard rename(part, target) == 0 else { throw systemError("cannot rename \(part) to", target) }
        try sync(folder)
    }

    private func sync(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemError("cannot open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw systemError("cannot write", path) }
    }

    /// Creates the file of the copy, empty. One that was killed has left its file; one that is being made has it locked.
    private func lockPart() throws(StoreError) -> DatabaseLock {
        // Copies that start at the same time look one after the other. Where a folder cannot be locked, they do not.
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        do {
            if access(part, F_OK) == 0 { _ = try DatabaseLock(path: part) }
            removePart()
            return try DatabaseLock(path: part)
        } catch {
            guard case .held = error else { throw StoreError(error, path: target) }
            throw StoreError(.inUse, "another copy into \(target) is being made: wait for its end")
        }
    }

    private func removePart() { for suffix in ["", "-journal", "-wal", "-shm"] { unlink(part + suffix) } }

    private func systemError(_ what: String, _ path: String) -> StoreError {
        StoreError(errno == ENOSPC ? .full : .other, "\(what) \(path): \(String(cString: strerror(errno)))")
    }
}
