import Glibc
import LockstepSQLite

extension StoreError {
    /// Creates a store error from any error of an operation on the store at `path`.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as SQLiteError: self.init(sqlite: error, path: path)
        case let error as NewerSchemaError: self.init(.schema, "\(path) was \(error)")
        case let error as FileLockError: self.init(lock: error, path: path)
        default: self.init(.other, "an operation on the store \(path) failed: \(error)")
        }
    }

    private init(sqlite error: SQLiteError, path: String) {
        if error.isFull {
            self.init(
                .full, "no space left on the disk of \(path), nothing was written: free some space (\(error))")
        } else if error.isBusy {
            self.init(.busy, "\(path) is locked by another program: end its transaction (\(error))")
        } else if error.isInterrupted {
            self.init(.cancelled, "the query of \(path) was cancelled")
        } else if error.isNotADatabase {
            self.init(.notAStore, "\(path) is not an SQLite database: choose another file")
        } else if error.isCorrupt {
            let hasLog = access(path + "-wal", F_OK) == 0
            let copied =
                "; if a backup was copied over the store, only the log that was left of it does not fit: delete \(path)-wal, "
                + "or restore the backup with 'lockstep backup --force', which deletes it"
            self.init(
                .corrupt,
                "\(path) is damaged: stop the collector, keep a copy of the file and of \(path)-wal, and restore a backup or "
                    + "salvage what can be read, see 'Damaged store' in docs/store.md; 'lockstep verify --file' lists the "
                    + "damage\(hasLog ? copied : "") (\(error))")
        } else if error.isReadOnlyOrCannotOpen {
            self.init(
                .notAllowed,
                "cannot open or write \(path): give this user read and write access to the file and its folder (\(error))"
            )
        } else {
            self.init(.other, "an operation on the store \(path) failed: \(error)")
        }
    }

    private init(lock error: FileLockError, path: String) {
        switch error {
        case .held(_, let pid):
            let holder = pid.map { " (process \($0))" } ?? ""
            self.init(
                .inUse, "another collector\(holder) already writes to \(path): give each collector its own store")
        case .cannotOpen:
            self.init(
                .notAllowed,
                "cannot write to the folder of \(path): choose another folder or change its permissions (\(error))")
        }
    }
}
