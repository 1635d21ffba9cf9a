import Glibc
import LockstepSQLite

/// Gives the free pages of a store back to the file system.
///
/// SQLite can do this in steps, while a collector writes, only if the file has a map of its pages. Such a map costs about 6 % more
/// bytes written, so only stores have it that were compacted once. The first time, the file is written anew, for which no
/// collector may use it.
public struct StoreCompaction {
    /// The number of pages of a step. It takes a few milliseconds.
    private static let step = 256

    private let path: String
    private let database: SQLiteDatabase
    private let pageSize: Int64

    /// Opens a store.
    /// - Throws: ``StoreError`` if the store cannot be written.
    public init(path: String) throws(StoreError) {
        self.path = path
        guard access(path, F_OK) == 0 else { throw StoreError(.missing, "there is no store at \(path)") }
        do {
            database = try SQLiteDatabase(path: path, mode: .readWrite, busyTimeout: 30_000)
            try StoreSchema.check(database)
            try database.keepLogFiles()
            pageSize = try database.integer("PRAGMA page_size")
        } catch { throw StoreError(error, path: path) }
    }

    /// The size of the free pages, in bytes.
    public var free: Int64 {
        get throws(StoreError) {
            do { return try database.integer("PRAGMA freelist_count") * pageSize } catch {
                throw StoreError(error, path: path)
            }
        }
    }

    /// Whether it works in steps. Otherwise the first ``run(_:)`` writes the file anew.
    public var hasMap: Bool {
        get throws(StoreError) {
            do { return try database.integer("PRAGMA auto_vacuum") == 2 } catch { throw StoreError(error, path: path) }
        }
    }

    /// Gives the free pages back.
    /// - Parameter progress: receives the size of the remaining free pages before each step, and returns whether to go on.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/inUse`` if the file has no map and a collector uses it.
    public func run(_ progress: (Int64) -> Bool) throws(StoreError) {
        guard try hasMap else { return try rewrite() }
        do {
            var last = Int64.max
            // A collector may free more pages meanwhile, but that must not keep this running forever.
            while case let free = try free, free > 0, free < last, progress(free) {
                last = free
                let clock = ContinuousClock()
                let duration = try clock.measure { try database.execute("PRAGMA incremental_vacuum(\(Self.step))") }
                // SQLite's lock is not fair: the collector gets it in between.
                usleep(useconds_t(max(1000, min(500_000, duration / .microseconds(1)))))
            }
            try database.checkpoint()
        } catch { throw StoreError(error, path: path) }
    }

    private func rewrite() throws(StoreError) {
        do {
            let lock = try FileLock(path: path)
            database.lock = try DatabaseLock(path: path)
            try withExtendedLifetime(lock) {
                try database.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
                try database.checkpoint(truncate: true)
            }
        } catch let error as FileLockError {
            guard case .held = error else { throw StoreError(error, path: path) }
            throw StoreError(
                .inUse,
                "\(path) is in use by a collector, and its free pages can only be given back by writing the file anew: stop "
                    + "the collector, and compact once; afterwards this works while the collector runs")
        } catch { throw StoreError(error, path: path) }
    }
}
