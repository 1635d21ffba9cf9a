import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Random merges", .temporaryFolder)
struct RandomMergeTests {
    private static var seed: UInt64 {
        ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? .random(in: 0...9_999)
    }

    @Test(
        "between random writes, failures, merge slices and restarts, each row is shown exactly once")
    func randomMerges() throws {
        let seed = Self.seed
        print("random merges: LOCKSTEP_SEED=\(seed)")
        let path = TemporaryFolder.path + "/store"
        var batches = RandomBatches(seed: seed)
        var model = StoreModel(streams: RandomBatches.streams)
        var store = try open(path)
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        for step in 0..<300 {
            let action = batches.random.next() % 20
            switch action {
            case 0 where batches.chance(40):
                // Release the old store first: it holds the lock.
                withExtendedLifetime(consume store) {}
                store = try open(path)
            case 1, 2: try fail(store, &batches)
            case 3 where !store.isMerging:
                try store.startMerge()
            case 4...8:
                for _ in 0..<Int.random(in: 1...4, using: &batches.random) where store.isMerging {
                    try store.mergeSlice(maxDuration: .zero)
                }
            default:
                let group = batches.group()
                for part in batches.parts(of: group) { try store.add(part) }
                #expect(try store.commit() == model.write(group), "seed \(seed), step \(step)")
            }
            let difference = try reader.content(of: RandomBatches.streams).difference(from: model.content)
            try #require(difference == nil, "seed \(seed), step \(step), action \(action)")
        }
        try store.mergeAll()
        #expect(try reader.content(of: RandomBatches.streams).difference(from: model.content) == nil)
        for stream in RandomBatches.streams {
            let merged = try reader.integer("SELECT count(*) FROM \(stream.rowTable)")
            #expect(try merged == reader.integer("SELECT count(*) FROM \(stream.table)"), "\(stream)")
        }
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }

    private func open(_ path: String) throws -> SQLiteStore {
        let store = try SQLiteStore(
            path: path, options: MergeWorkload.options,
            streams: StreamCatalog.builtIn.streams + RandomBatches.streams.suffix(1))
        // Inserting a rejected message fails at once. While the trap is armed, each commit fails.
        try store.database.execute(
            """
            CREATE TEMP TABLE trap AS SELECT 0 AS armed;
            CREATE TEMP TRIGGER r BEFORE INSERT ON main.rejected BEGIN SELECT RAISE(ABORT, 'trap'); END;
            """)
        try store.database.execute(
            """
            CREATE TEMP TRIGGER c BEFORE INSERT ON main._waiting
            WHEN (SELECT armed FROM trap) AND new.stream_id IS NULL BEGIN SELECT RAISE(ROLLBACK, 'trap'); END
            """)
        return store
    }

    /// Writes a group in vain.
    private func fail(_ store: SQLiteStore, _ batches: inout RandomBatches) throws {
        var group = batches.group()
        if batches.chance(50) {
            group.rejected = [RejectedMessage(at: time(0), topic: "trap", reason: "", size: 0, head: [])]
            if batches.chance(50) { try store.add(batches.group()) }
            #expect(throws: StoreError.self) { try store.write(group) }
        } else {
            group.seen[device("new")] = time(1)
            try store.database.execute("UPDATE trap SET armed = 1")
            #expect(throws: StoreError.self) { try store.write(group) }
            try store.database.execute("UPDATE trap SET armed = 0")
        }
    }
}
