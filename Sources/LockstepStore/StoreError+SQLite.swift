import LockstepSQLite

extension StoreError {
    /// Any error met while working with the store at `path`, in the words of this type.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as SQLiteError: self.init(sqlite: error, path: path)
        case let error as NewerSchemaError: self.init(.schema, "\(path) was \(error)")
        case let error as FileLockError: self.init(lock: error, path: path)
        default: self.init(.other, "the store \(path) failed: \(error)")
        }
    }

    private init(sqlite error: SQLiteError, path: String) {
        if error.isFull {
            self.init(.full, "no space is left for \(path), nothing was written: free some space; \(error)")
        } else if error.isBusy {
            self.init(.busy, "another program holds \(path) locked: end its transaction; \(error)")
        } else if error.isNotADatabase {
            self.init(.notAStore, "\(path) is not an SQLite database: choose another file")
        } else if error.isCorrupt {
            self.init(.corrupt, "\(path) is damaged: save a copy and try sqlite3's .recover; \(error)")
        } else if error.isReadOnlyOrCannotOpen {
            self.init(
                .notAllowed, "\(path) and its folder must be readable and writable for this user; \(error)")
        } else {
            self.init(.other, "the store \(path) failed: \(error)")
        }
    }

    private init(lock error: FileLockError, path: String) {
        switch error {
        case .held(_, let pid):
            let holder = pid.map { " (process \($0))" } ?? ""
            self.init(
                .inUse, "another collector\(holder) already writes to \(path); give each collector its own store")
        case .cannotOpen:
            self.init(
                .notAllowed, "cannot write to the folder of \(path), choose another or change its rights: \(error)")
        }
    }
}
