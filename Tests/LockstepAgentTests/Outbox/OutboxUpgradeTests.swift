import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("An outbox with the first schema", .temporaryFolder)
struct OutboxUpgradeTests {
    private let path = TemporaryFolder.path + "/outbox"
    private let old = Epoch(unchecked: "0a0b0c0d0e0f0a0b")
    private let epoch = Epoch(unchecked: "72fb8639bfae3695")

    @Test("the upgrade keeps epochs, numbers and batches")
    func upgrade() throws {
        try makeFirst()
        do {
            let outbox = try openOutbox(keepsJournal: true)
            #expect(outbox.epoch == epoch && outbox.previousEpoch == old && outbox.droppedSamples == 20)
            #expect(outbox.pending() == [old: [7...7, 9...9], epoch: [4...5]])
            for (epoch, seq) in [(old, 7), (old, 9), (epoch, 4), (epoch, 5)] as [(Epoch, Int64)] {
                let entry = try #require(try outbox.entry(at: BatchPosition(epoch: epoch, seq: seq)))
                #expect(String(decoding: entry.payload, as: UTF8.self) == payload(epoch, seq))
            }
            #expect(
                outbox.bytes
                    == [(old, 7), (old, 9), (epoch, 4), (epoch, 5)].reduce(0) { $0 + payload($1.0, $1.1).utf8.count })
            #expect(try outbox.allDroppedBatches() == [epoch: [1...3]])
            #expect(outbox.isOlder(than: Acknowledgement(epoch: epoch, through: 5)))
            #expect(!outbox.isOlder(than: Acknowledgement(epoch: epoch, through: 4)))
            #expect(try outbox.startSession(at: Timestamp(microseconds: 0)) == 8)
            let next = try outbox.commit(appending: [block([9])], at: 9).entries
            #expect(next.map(\.position) == [BatchPosition(epoch: epoch, seq: 6)])
            #expect(try outbox.database.integer("PRAGMA page_size") == 512)
        }
        do {
            let again = try openOutbox()
            #expect(again.pending() == [old: [7...7, 9...9], epoch: [4...6]])
            _ = try again.commit(appending: [], removing: [old: [1...9], epoch: [1...6]], at: 10)
            #expect(again.pending().isEmpty)
            #expect(try again.database.text("PRAGMA integrity_check") == "ok")
        }
        // The journal is complete, in the order of acceptance.
        var positions: [BatchPosition?] = []
        try Journal.read(path: path) { positions.append($0.position) }
        #expect(
            positions
                == [(old, 7), (old, 8), (old, 9), (epoch, 4), (epoch, 6)].map {
                    BatchPosition(epoch: $0.0, seq: $0.1)
                })
    }

    @Test("the journal and the history can be read before the upgrade")
    func reading() throws {
        try makeFirst()
        var count = 0
        try Journal.read(path: path) { _ in count += 1 }
        #expect(count == 4)
        let samples = try OutboxHistory(path: path).samples(of: .accelerometer, from: time(0), to: time(1_000_000))
        #expect(samples.count == 10)
    }

    @Test("the ages of batches of an earlier version are unknown, and those of new ones are known")
    func ages() throws {
        try makeFirst()
        let day: Int64 = 86_400_000_000
        let clock = OutboxClock(bootID: "boot", wall: time(10), offset: 0)
        let outbox = try Outbox(path: path, limits: .init(age: day), clock: clock)
        _ = try outbox.commit(appending: [block([9])], at: 10)
        #expect(try outbox.commit(appending: [], at: 2 * day).dropped == Outbox.Dropped())
        let dropped = try outbox.commit(appending: [], removing: [old: [1...9], epoch: [1...5]], at: 2 * day).dropped
        #expect(dropped.batches == [epoch: [6...6]])
    }

    @Test("an outbox of version 2 is upgraded without a copy of its batches")
    func second() throws {
        let count: Int64 = 100
        try SQLiteDatabase(path: path).execute(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
            CREATE TABLE dropped (
                epoch TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (epoch, first)
            ) WITHOUT ROWID;
            CREATE TABLE entries (
                id INTEGER PRIMARY KEY, -- a comment
                stream TEXT NOT NULL, samples INTEGER NOT NULL, created INTEGER NOT NULL, journal INTEGER NOT NULL,
                done INTEGER, unpublished TEXT, payload BLOB NOT NULL -- as published
            );
            CREATE TABLE epochs (base INTEGER PRIMARY KEY, epoch TEXT NOT NULL);
            CREATE TABLE journaled (first INTEGER PRIMARY KEY, last INTEGER NOT NULL);
            CREATE VIEW batches AS SELECT id, created FROM entries;
            CREATE VIEW journal AS SELECT id, created FROM entries WHERE journal;
            PRAGMA application_id = 0x4C4B4F42;
            PRAGMA user_version = 2;
            INSERT INTO meta VALUES ('epoch', '\(epoch)'), ('saved', \(count));
            INSERT INTO epochs VALUES (0, '\(epoch)');
            WITH RECURSIVE n(seq) AS (VALUES (1) UNION ALL SELECT seq + 1 FROM n WHERE seq < \(count))
            INSERT INTO entries (id, stream, samples, created, journal, done, payload)
            SELECT seq, 'motion/accelerometer', 1, \(start) + seq, 0, iif(seq = \(count), 0, NULL), zeroblob(20000)
            FROM n;
            """)
        let pages = try SQLiteDatabase(path: path).integer("PRAGMA page_count")
        let outbox = try openOutbox()
        #expect(outbox.epoch == epoch && outbox.pending() == [epoch: [1...count]])
        #expect(outbox.bytes == count * 20_000 && outbox.newest == ["motion/accelerometer": start + count])
        #expect(try outbox.database.integer("PRAGMA page_count") < pages + 20)
        #expect(try outbox.commit(appending: [block([9])], at: 9).entries.map(\.position.seq) == [count + 1])
        #expect(try outbox.database.text("PRAGMA integrity_check") == "ok")
    }

    @Test("a large outbox keeps its page size")
    func large() throws {
        try makeFirst()
        let count: Int64 = 300
        try SQLiteDatabase(path: path).execute(
            """
            WITH RECURSIVE n(seq) AS (VALUES (6) UNION ALL SELECT seq + 1 FROM n WHERE seq < \(count))
            INSERT INTO batches (epoch, seq, stream, samples, created, payload)
            SELECT '\(epoch)', seq, 'motion/accelerometer', 1, \(start), zeroblob(5000) FROM n;
            UPDATE meta SET value = \(count) WHERE key = 'seq';
            """)
        let outbox = try openOutbox()
        #expect(try outbox.database.integer("PRAGMA page_size") == 4096)
        #expect(outbox.pending() == [old: [7...7, 9...9], epoch: [4...count]])
        _ = try outbox.commit(appending: [block([9])], removing: [epoch: [4...count]], at: 9)
        #expect(outbox.pending() == [old: [7...7, 9...9], epoch: [count + 1...count + 1]])
    }

    @Test("an outbox that a reader has open is upgraded")
    func inUse() throws {
        try makeFirst()
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        let query = try reader.prepare("SELECT count(*) FROM batches")
        #expect(try query.step())
        let outbox = try openOutbox()
        #expect(outbox.pending() == [old: [7...7, 9...9], epoch: [4...5]])
        #expect(try outbox.commit(appending: [block([9])], at: 9).entries.map(\.position.seq) == [6])
        query.reset()
    }

    private func payload(_ epoch: Epoch, _ seq: Int64) -> String {
        let time = start + (epoch == old ? 0 : 100_000) + seq * 10_000
        return #"{"v":1,"epoch":"\#(epoch)","seq":\#(seq),"t":\#(time),"dt":1000,"x":[1,2],"y":[0,0],"z":[-1,-1]}"#
    }

    /// Creates an outbox as the first version did: batches of two epochs, of which those of the old epoch have an
    /// unknown age, and a journal of four batches.
    private func makeFirst() throws {
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

            INSERT INTO meta VALUES ('epoch', '\(epoch)'), ('previous_epoch', '\(old)'), ('seq', 5), ('session', 7),
                ('dropped_samples', 20), ('unpublished', '5-5'), ('undated', 17), ('boot_id', 'boot'),
                ('clock_offset', 0);
            INSERT INTO dropped VALUES ('\(epoch)', 1, 3);
            """)
        let database = try SQLiteDatabase(path: path)
        for (id, epoch, seq) in [(15, old, 7), (17, old, 9), (18, epoch, 4), (20, epoch, 5)] as [(Int, Epoch, Int64)] {
            try database.execute(
                """
                INSERT INTO batches VALUES (\(id), '\(epoch)', \(seq), 'motion/accelerometer', 2, \(start),
                    CAST('\(payload(epoch, seq))' AS BLOB));
                """)
        }
        for (epoch, seq) in [(old, 7), (old, 8), (old, 9), (epoch, 4)] as [(Epoch, Int64)] {
            try database.execute(
                """
                INSERT INTO journal (epoch, seq, stream, payload)
                VALUES ('\(epoch)', \(seq), 'motion/accelerometer', CAST('\(payload(epoch, seq))' AS BLOB));
                """)
        }
    }
}
