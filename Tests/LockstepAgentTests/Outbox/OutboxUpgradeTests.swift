import LockstepModel
import LockstepSQLite
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("An outbox with the first schema", .temporaryFolder)
struct OutboxUpgradeTests {
    @Test("the upgrade keeps epoch, numbers and batches")
    func upgrade() throws {
        let path = TemporaryFolder.path + "/outbox"
        let epoch = Epoch(unchecked: "72fb8639bfae3695")
        try makeFirst(path, epoch)
        let outbox = try openOutbox(keepsJournal: true)
        #expect(outbox.epoch == epoch && outbox.droppedSamples == 20)
        #expect(try outbox.pending() == [epoch: [4...4]])
        #expect(try outbox.droppedBatches() == [1...3])
        #expect(try outbox.commit(appending: [block([9])], at: time(9)).entries.map(\.position.seq) == [5])
        var count = 0
        try Journal.read(path: path) { _ in count += 1 }
        #expect(count == 2)
    }

    /// Creates an outbox as the first version did.
    private func makeFirst(_ path: String, _ epoch: Epoch) throws {
        let payload =
            #"{"v":1,"epoch":"\#(epoch)","seq":4,"t":\#(start),"dt":10000,"x":[1,2],"y":[0,0],"z":[-1,-1]}"#
        try SQLiteDatabase(path: path).execute(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
            CREATE TABLE batches (
                id INTEGER PRIMARY KEY AUTOINCREMENT, epoch TEXT NOT NULL, seq INTEGER NOT NULL, stream TEXT NOT NULL,
                samples INTEGER NOT NULL, created INTEGER NOT NULL, payload BLOB NOT NULL, UNIQUE (epoch, seq));
            CREATE TABLE dropped (
                epoch TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (epoch, first)
            ) WITHOUT ROWID;
            CREATE TABLE journal (
                id INTEGER PRIMARY KEY, epoch TEXT NOT NULL, seq INTEGER NOT NULL, stream TEXT NOT NULL,
                payload BLOB NOT NULL);
            PRAGMA application_id = 0x4C4B4F42;
            PRAGMA user_version = 1;

            INSERT INTO meta VALUES ('epoch', '\(epoch)'), ('seq', 4), ('session', 7), ('dropped_samples', 20);
            INSERT INTO batches (epoch, seq, stream, samples, created, payload)
            VALUES ('\(epoch)', 4, 'motion/accelerometer', 2, \(start), CAST('\(payload)' AS BLOB));
            INSERT INTO dropped VALUES ('\(epoch)', 1, 3);
            INSERT INTO journal (epoch, seq, stream, payload)
            VALUES ('\(epoch)', 4, 'motion/accelerometer', CAST('\(payload)' AS BLOB));
            """)
    }
}
