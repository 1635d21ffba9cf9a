import Glibc
import LockstepModel
import LockstepSQLite

/// The table `files`: the files that have held the store.
///
/// A copy of a store lacks what its original has acknowledged later, so it must not take this for the history of devices from
/// before the store. See ``EpochReport``.
enum StoreFile {
    static let create = """
        CREATE TABLE files (
            -- The files that have held this store, in order: more than one if it is a copy, or was moved to another disk.
            inode INTEGER NOT NULL, -- number of the file in its file system
            at INTEGER NOT NULL -- time of the first use, in µs since 1970-01-01 UTC
        )
        """

    /// Records the file that holds the store, unless it is the one recorded last.
    static func record(_ path: String, in database: SQLiteDatabase) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let inode = Int64(bitPattern: UInt64(status.st_ino))
        guard
            try database.integer("SELECT count(*) FROM files") == 0
                || database.integer("SELECT inode FROM files ORDER BY rowid DESC LIMIT 1") != inode
        else { return }
        try database.execute("INSERT INTO files (inode, at) VALUES (\(inode), \(Moment.now().wall.microseconds))")
    }

    /// Returns whether the store is a copy of another file.
    static func isCopy(_ database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.integer("SELECT count(*) FROM files") > 1
    }
}
