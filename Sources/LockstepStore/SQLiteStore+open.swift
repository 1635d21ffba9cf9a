import Glibc
import LockstepModel
import LockstepSQLite

/// Opens the database and creates or migrates the schema.
func openForWriting(
    _ path: String, _ lock: FileLock, _ options: SQLiteStore.Options, _ streams: [SensorStream]
) throws -> SQLiteDatabase {
    let database = try SQLiteDatabase(path: path, mode: .readWriteCreate, busyTimeout: options.busyTimeout)
    guard !database.isReadOnly else {
        throw StoreError(
            .notAllowed, "\(path) is read-only: give this user write access, or choose another file")
    }
    // Check before the first write: the database of another program must not change.
    try StoreSchema.checkIsStoreOrNew(database)
    if try database.integer("PRAGMA page_count") == 0 {
        try database.execute("PRAGMA page_size = \(StoreSchema.pageSize(for: streams))")
        // Before there is a write-ahead log: the file itself is a store from its first page on, also a copy without the log.
        try StoreSchema.update(database, streams: streams)
        try StoreFile.record(path, lock, in: database)
    }
    try database.useWriteAheadLog()
    database.disableAutomaticCheckpoint()
    try database.keepLogFiles()
    try database.execute("PRAGMA synchronous = FULL")
    try database.execute("PRAGMA cache_size = -\(options.cacheSize)")
    // Debian's SQLite overwrites deleted content with zeros, so that each cleared page of a log would be written again.
    try database.execute("PRAGMA secure_delete = FAST")
    try database.execute("PRAGMA temp_store = MEMORY")
    // Shrink the log file after it has grown, for example during a long read or while the disk was full.
    try database.execute("PRAGMA journal_size_limit = 67108864")
    try StoreSchema.update(database, streams: streams)
    if !options.retention.keepsEverything { try ExpiredTable.create(in: database) }
    try StoreFile.record(path, lock, in: database)
    if !options.survivesPowerLoss { try database.execute("PRAGMA synchronous = NORMAL") }
    return database
}

/// Checks that the folder of a store exists. Without this check, SQLite reports only "unable to open database file".
func checkFolder(of path: String) throws(StoreError) {
    guard !isFolder(path) else {
        throw StoreError(.notAStore, "\(path) is a folder: specify the path of a file in it")
    }
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard isFolder(folder) else {
        throw StoreError(
            .missing, "the folder of the store \(path) does not exist: create it with mkdir -p \(folder)")
    }
}

/// Returns whether `path` is an existing folder.
func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}
