import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Failed writes", .temporaryFolder)
struct FailureTests {
    private let key = DeviceEpoch(device: device("one"), epoch: epoch("e"))

    /// A group with data for every table.
    private var group: IngestGroup {
        let change = LifecycleTransition(from: nil, to: .active, since: time(3), reason: "foreground", seq: 1)
        return IngestGroup(
            batches: [received(acceleration([1]), seq: 1), received(acceleration([1], z: 4), seq: 2)],
            rejected: [RejectedMessage(at: time(1), topic: "bad", reason: "bad", size: 1, head: [1])],
            transitions: [DeviceTransition(device: device("one"), transition: change)],
            lifecycles: [device("one"): LifecycleSnapshot(last: change, session: 7)],
            dropped: [DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [4...4])])
    }

    @Test("a failed write leaves nothing in the tables or in memory")
    func allOrNothing() throws {
        let store = try newStore().store
        try store.database.execute(
            "CREATE TRIGGER trap AFTER INSERT ON rejected BEGIN SELECT RAISE(ABORT, 'trap'); END")
        let error = try storeError { _ = try store.write(group) }
        #expect(error.code == .other && error.description.contains("trap"))
        try expectEmpty(store)
        try store.database.execute("DROP TRIGGER trap")
        try expectWritten(store)
    }

    @Test("a failed commit leaves nothing, and the next commit writes everything")
    func commit() throws {
        let store = try newStore().store
        try store.database.execute(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE trap (device REFERENCES _devices (device_id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TRIGGER trap_trigger AFTER INSERT ON rejected BEGIN INSERT INTO trap VALUES (-1); END;
            BEGIN IMMEDIATE;
            PRAGMA defer_foreign_keys = ON; -- The row of a new device is written last.
            """)
        _ = try storeError { _ = try store.write(group) }
        try expectEmpty(store)
        try store.database.execute("DROP TRIGGER trap_trigger; PRAGMA foreign_keys = OFF")
        try expectWritten(store)
    }

    @Test("a full disk is reported, and writing works again after space is freed")
    func diskFull() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1]), seq: 1))
        try store.database.execute("PRAGMA max_page_count = \(store.database.integer("PRAGMA page_count") + 1)")
        let large = received(acceleration(0..<5000), seq: 2)
        let error = try storeError { try store.write(large) }
        #expect(error.isFull && !error.isBusy)
        #expect(
            error.description.hasPrefix("no space left on the disk of \(path), nothing was written: free some space"))
        #expect(try store.database.rows("SELECT samples FROM devices") == ["1"])
        #expect(try store.database.rows("SELECT first, last FROM batches") == ["1|1"])

        try store.database.execute("PRAGMA max_page_count = 1000000")
        let result = try store.write(large)
        #expect(result.devices[device("one")] == IngestResult.Counts(stored: 4999, duplicates: 1))
        #expect(result.received == [key: [1...2]])
    }

    @Test("a write that waits too long for the lock of another program fails")
    func busy() throws {
        var options = SQLiteStore.Options()
        options.busyTimeout = 10
        let (store, path) = try newStore(options)
        let other = try SQLiteDatabase(path: path, mode: .readWrite)
        try other.execute("BEGIN IMMEDIATE")
        #expect(try storeError { _ = try store.write(group) }.isBusy)
        try other.execute("COMMIT")
        try expectWritten(store)
    }

    @Test("a killed process leaves all committed groups and nothing of an open transaction")
    func killed() throws {
        let folder = TemporaryFolder.path
        let store = try SQLiteStore(path: folder + "/store")
        try expectWritten(store)
        try store.database.execute("BEGIN; INSERT INTO _accelerometer VALUES (1, 99, 0, 0, 0)")
        // Copy the files of the open store: a killed process would leave the same files.
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: folder + "/store" + suffix, toPath: folder + "/copy" + suffix)
        }
        withExtendedLifetime(store) {}
        let copy = try SQLiteStore(path: folder + "/copy")
        #expect(try copy.database.rows("SELECT t - \(start) FROM accelerometer") == ["1"])
        #expect(try copy.write(received(acceleration([5]), seq: 3)).received == [key: [1...4]])
        #expect(try StoreReader(path: folder + "/copy").integrityCheck().isEmpty)
    }

    private func expectEmpty(_ store: SQLiteStore) throws {
        for table in ["devices", "accelerometer", "batches", "dropped", "states", "conflicts", "rejected"] {
            // The table of a stream is created with its first sample.
            let exists = try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE name = '\(table)'") > 0
            #expect(exists == (table != "accelerometer"))
            if exists { #expect(try store.database.integer("SELECT count(*) FROM \(table)") == 0, "\(table)") }
        }
        let emptyReport = DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [])
        #expect(try store.write(IngestGroup(dropped: [emptyReport])).received == [key: []])
    }

    private func expectWritten(_ store: SQLiteStore) throws {
        let result = try store.write(group)
        #expect(result.devices == [device("one"): IngestResult.Counts(stored: 1, conflicts: 1)])
        #expect(result.received == [key: [1...2, 4...4]])
        try store.mergeAll()
        for table in ["devices", "accelerometer", "batches", "dropped", "states", "conflicts", "rejected"] {
            #expect(try store.database.integer("SELECT count(*) FROM \(table)") == 1, "\(table)")
        }
    }
}
