import FoundationEssentials
import Glibc
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("FileLock", .temporaryFolder)
struct FileLockTests {
    @Test("a lock has one holder, reports its process id, and is released with its object")
    func oneHolder() throws {
        let folder = TemporaryFolder.path
        let path = folder + "/thing"
        do {
            let lock = try FileLock(path: path)
            let error = try #require(throws: FileLockError.self) { _ = try FileLock(path: path) }
            #expect(error == .held(path: path, by: getpid()))
            #expect(error.description == "\(path) is in use by process \(getpid())")
            withExtendedLifetime(lock) {}
        }
        #expect(FileManager.default.fileExists(atPath: path + ".lock"))
        _ = try FileLock(path: path)
    }

    @Test("a file has one lock, however it is named")
    func otherNames() throws {
        let folder = TemporaryFolder.path
        let path = folder + "/thing"
        let lock = (try FileLock(path: path), try DatabaseLock(path: path))
        for name in ["soft", "hard"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        #expect(symlink("../thing", folder + "/soft/link") == 0)
        #expect(link(path, folder + "/hard/link") == 0)
        #expect(symlink(folder, folder + "/soft/folder") == 0)
        for name in ["soft/link", "soft/folder/thing"] {
            let error = try #require(throws: FileLockError.self) { _ = try FileLock(path: "\(folder)/\(name)") }
            #expect(error == .held(path: "\(folder)/\(name)", by: getpid()))
        }
        let error = try #require(throws: FileLockError.self) { _ = try DatabaseLock(path: folder + "/hard/link") }
        #expect(error == .held(path: folder + "/hard/link", by: nil))
        withExtendedLifetime(lock) {}
    }

    @Test("a lock does not disturb the locks of SQLite, and is released after the connection")
    func database() throws {
        let path = TemporaryFolder.path + "/thing"
        let lock = try DatabaseLock(path: path)
        do {
            let database = try SQLiteDatabase(path: path)
            database.lock = lock
            try database.useWriteAheadLog()
            try database.execute("CREATE TABLE t (x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
            let other = try SQLiteDatabase(path: path, busyTimeout: 0)
            #expect(throws: SQLiteError.self) { try other.execute("BEGIN IMMEDIATE") }
            try database.execute("COMMIT")
            #expect(try other.integer("SELECT count(*) FROM t") == 1)
        }
    }

    @Test("a lock file left by a dead process does not hold the lock")
    func deadHolder() throws {
        let folder = TemporaryFolder.path
        try Data("99999999\n".utf8).write(to: URL(filePath: folder + "/thing.lock"))
        _ = try FileLock(path: folder + "/thing")
        #expect(try String(contentsOf: URL(filePath: folder + "/thing.lock"), encoding: .utf8) == "\(getpid())\n")
    }

    @Test("a note in the lock file stays for the next holder")
    func note() throws {
        let path = TemporaryFolder.path + "/thing"
        do {
            let lock = try FileLock(path: path)
            #expect(lock.note.isEmpty && lock.setNote("long note") && lock.setNote("note"))
        }
        let lock = try FileLock(path: path)
        #expect(lock.note == "note")
        #expect(throws: FileLockError.held(path: path, by: getpid())) { try FileLock(path: path) }
    }

    @Test("an error in a missing folder names the file and the cause")
    func noFolder() throws {
        let folder = TemporaryFolder.path
        let error = try #require(throws: FileLockError.self) { _ = try FileLock(path: folder + "/no/thing") }
        #expect(
            error.description == "cannot use the lock file \(folder)/no/thing.lock: No such file or directory")
    }
}
