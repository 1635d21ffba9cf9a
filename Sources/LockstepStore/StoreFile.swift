import Glibc
import LockstepModel
import LockstepSQLite

/// The table `_files`: the files that have held the store.
///
/// A copy of a store lacks what its original has acknowledged later, so it must not take this for the history of devices from
/// before the store. See ``EpochReport``. A copy has another inode, or if it was written into the file of the original,
/// another id than the lock file beside it: both get a new one at each opening.
enum StoreFile {
    static let create = """
        CREATE TABLE _files (
            -- The files that have held this store, in order: more than one if it is a copy, or was moved to another disk.
            inode INTEGER NOT NULL, -- number of the file in its file system
            id TEXT NOT NULL, -- random id of the last opening, which the file PATH.lock has too
            at INTEGER NOT NULL -- time of the first use, in µs since 1970-01-01 UTC
        )
        """

    /// Records the file that holds the store, and gives it a new id. Call it with `PRAGMA synchronous = FULL`.
    /// - Parameter lock: the lock on the store, or nil for a copy that is being made.
    static func record(_ path: String, _ lock: FileLock?, in database: SQLiteDatabase) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let inode = Int64(bitPattern: UInt64(status.st_ino))
        let last = try database.prepare("SELECT inode, id FROM _files ORDER BY rowid DESC LIMIT 1")
        let known = try last.step() ? (inode: last.int64(at: 0), id: last.text(at: 1) ?? "") : nil
        last.reset()
        let ids = lock?.note.split(separator: " ").map(String.init) ?? []
        let isSame = known.map { $0.inode == inode && ids.contains($0.id) } ?? false
        let new = String(UInt64.random(in: .min ... .max), radix: 16)
        // Until the transaction is on the disk, either id is right. Without the new one in the lock file, which may be on a
        // full disk, the old one stays.
        let isNoted = lock?.setNote((isSame ? [known?.id ?? "", new] : [new]).joined(separator: " ")) ?? false
        if !isSame {
            try database.execute(
                "INSERT INTO _files (inode, id, at) VALUES (\(inode), '\(new)', \(Moment.now().wall.microseconds))")
        } else if isNoted {
            try database.execute(
                "UPDATE _files SET id = '\(new)' WHERE rowid = (SELECT max(rowid) FROM _files)")
        }
        if isNoted { _ = lock?.setNote(new) }
    }

    /// Returns whether the store is a copy of another file.
    static func isCopy(_ database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.integer("SELECT count(*) FROM _files") > 1
    }
}
