import Foundation
import Glibc
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Opening a store", .temporaryFolder)
struct OpeningTests {
    @Test("a second collector is refused")
    func inUse() throws {
        let (store, path) = try newStore()
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .inUse)
        #expect(
            error.description == "another collector (process \(getpid())) already writes to \(path): "
                + "give each collector its own store")
        withExtendedLifetime(store) {}
    }

    @Test("a store can be opened after its previous collector has ended")
    func successiveCollectors() throws {
        let folder = TemporaryFolder.path
        for seq in 1...3 {
            let store = try SQLiteStore(path: folder + "/store")
            let result = try store.write(received(acceleration([Int64(seq)]), seq: Int64(seq)))
            #expect(result.received.values.first == [1...Int64(seq)])
        }
    }

    @Test("a copy of the file without its log is an older store, and a file without tables is refused")
    func withoutLog() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1]), seq: 1))
        let copy = path + "-copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(try StoreReader(path: copy).devices().isEmpty)
        #expect(try StoreReader(path: copy).integrityCheck().isEmpty)
        #expect(try SQLiteStore(path: copy).reports.isCopy && !store.reports.isCopy)

        let bare = path + "-bare"
        try SQLiteDatabase(path: bare).useWriteAheadLog()
        for open in [{ _ = try SQLiteStore(path: bare) }, { _ = try StoreReader(path: bare) }] {
            let error = try storeError(open)
            #expect(error.code == .notAStore && error.description.contains("copy with 'lockstep backup'"))
        }
        // An empty file, such as from mktemp, is a new store.
        _ = FileManager.default.createFile(atPath: path + "-empty", contents: nil)
        #expect(try SQLiteStore(path: path + "-empty").lifecycles().isEmpty)
    }

    @Test(
        "a copy that was written into the file of its original is recognised, and a store that is opened again is none")
    func copyInPlace() throws {
        let path = TemporaryFolder.path + "/store"
        let copy = path + "-copy"
        _ = try SQLiteStore(path: path)
        for _ in 1...3 { #expect(try !SQLiteStore(path: path).reports.isCopy) }
        try SQLiteDatabase(path: path).execute("VACUUM INTO '\(copy)'")
        #expect(try !SQLiteStore(path: path).reports.isCopy)
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: Data(contentsOf: URL(filePath: copy)))
        try file.close()
        #expect(try SQLiteStore(path: path).reports.isCopy)
    }

    @Test("a store whose collector was killed while it was opened is no copy, but one without its lock file may be")
    func killedWhileOpening() throws {
        let path = TemporaryFolder.path + "/store"
        _ = try SQLiteStore(path: path)
        do {
            let lock = try FileLock(path: path)
            #expect(lock.setNote(lock.note + " abc"))
        }
        #expect(try !SQLiteStore(path: path).reports.isCopy)
        unlink(path + ".lock")
        #expect(try SQLiteStore(path: path).reports.isCopy)
    }

    @Test("a missing folder is reported with the command to create it")
    func missingFolder() throws {
        let folder = TemporaryFolder.path
        let error = try storeError { _ = try SQLiteStore(path: folder + "/no/store") }
        #expect(error.code == .missing)
        #expect(error.description.hasSuffix("does not exist: create it with mkdir -p \(folder)/no"))
    }

    @Test("a folder instead of a file is reported")
    func folder() throws {
        let folder = TemporaryFolder.path
        #expect(try storeError { _ = try SQLiteStore(path: folder) }.description.contains("is a folder"))
        #expect(try storeError { _ = try StoreReader(path: folder) }.description.contains("is a folder"))
    }

    @Test("a folder without write permission is reported", .enabled(if: access("/sys", F_OK) == 0))
    func forbiddenFolder() throws {
        let error = try storeError { _ = try SQLiteStore(path: "/sys/store") }
        #expect(error.code == .notAllowed)
        #expect(error.description.hasPrefix("cannot write to the folder of /sys/store"))
    }

    @Test("a read-only file is reported", .enabled(if: geteuid() != 0, "root ignores file permissions"))
    func readOnlyFile() throws {
        let folder = TemporaryFolder.path
        _ = try SQLiteStore(path: folder + "/store")
        chmod(folder + "/store", 0o444)
        let error = try storeError { _ = try SQLiteStore(path: folder + "/store") }
        #expect(error.code == .notAllowed)
        #expect(error.description.contains("is read-only"))
    }

    @Test("a file that is not a database is rejected and not changed")
    func notADatabase() throws {
        let folder = TemporaryFolder.path
        let path = folder + "/notes.txt"
        let text = Data(String(repeating: "Not a database.\n", count: 100).utf8)
        try text.write(to: URL(filePath: path))
        for open in [{ _ = try SQLiteStore(path: path) }, { _ = try StoreReader(path: path) }] {
            let error = try storeError(open)
            #expect(error == StoreError(.notAStore, "\(path) is not an SQLite database: choose another file"))
        }
        #expect(try Data(contentsOf: URL(filePath: path)) == text)
    }

    @Test("the database of another program is rejected and not changed")
    func otherDatabase() throws {
        let database = try newDatabase()
        try database.execute("CREATE TABLE note (text)")
        for open in [{ _ = try SQLiteStore(path: database.path) }, { _ = try StoreReader(path: database.path) }] {
            let error = try storeError(open)
            #expect(error.code == .notAStore)
            #expect(error.description.hasSuffix("is an SQLite database but not a Lockstep store: choose another file"))
        }
        #expect(try database.rows("SELECT name FROM sqlite_schema") == ["note"])
        #expect(try database.text("PRAGMA journal_mode") == "delete")
    }

    @Test("a store of a newer program is rejected")
    func newerSchema() throws {
        let folder = TemporaryFolder.path
        let path = folder + "/store"
        try SQLiteStore(path: path).database.setUserVersion(99)
        for open in [{ _ = try SQLiteStore(path: path) }, { _ = try StoreReader(path: path) }] {
            let error = try storeError(open)
            #expect(error.code == .schema)
            #expect(
                error.description == "\(path) was written by a newer version of Lockstep "
                    + "(schema 99, this program supports \(StoreSchema.migrations.version)): upgrade this program")
        }
    }

    @Test("reading a missing store fails and creates no file")
    func noStoreToRead() throws {
        let folder = TemporaryFolder.path
        let error = try storeError { _ = try StoreReader(path: folder + "/store") }
        #expect(error.code == .missing)
        #expect(error.description.hasPrefix("there is no store at \(folder)/store"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test("a store uses a write-ahead log, and each commit waits for the disk by default")
    func durability() throws {
        let durable = try SQLiteStore(path: TemporaryFolder.path + "/durable").database
        #expect(try durable.text("PRAGMA journal_mode") == "wal")
        #expect(try durable.integer("PRAGMA synchronous") == 2)
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        #expect(try newStore(options).store.database.integer("PRAGMA synchronous") == 1)
    }
}
