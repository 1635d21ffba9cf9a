import Glibc
import LockstepModel
import LockstepSQLite

/// Opens the database and makes it an up-to-date store.
func openForWriting(
    _ path: String, _ options: SQLiteStore.Options, _ streams: [SensorStream]
) throws -> SQLiteDatabase {
    let database = try SQLiteDatabase(path: path, mode: .readWriteCreate, busyTimeout: options.busyTimeout)
    guard !database.isReadOnly else {
        throw StoreError(.notAllowed, "\(path) is read-only: make it writable for this user, or choose another file")
    }
    // What is not a store is left as it is, so this comes before the first change.
    try StoreSchema.checkIsStoreOrNew(database)
    try database.useWriteAheadLog()
    database.disableAutomaticCheckpoint()
    try database.execute("PRAGMA synchronous = \(options.survivesPowerLoss ? "FULL" : "NORMAL")")
    try database.execute("PRAGMA cache_size = -\(options.cacheSize)")
    // A log that grew during an outage of the disk or beside a long reader shrinks again.
    try database.execute("PRAGMA journal_size_limit = 67108864")
    try StoreSchema.update(database, streams: streams)
    return database
}

/// Checks what SQLite would report as nothing but "unable to open database file".
func checkFolder(of path: String) throws(StoreError) {
    guard !isFolder(path) else { throw StoreError(.notAStore, "\(path) is a folder: give the path of a file in it") }
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard isFolder(folder) else {
        throw StoreError(.missing, "the folder of the store \(path) does not exist: make it with mkdir -p \(folder)")
    }
}

func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}
