import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Readers during merges", .temporaryFolder)
struct MergeReaderTests {
    @Test("each snapshot shows each row once: before, between and after slices, and throughout a merge")
    func snapshots() throws {
        var work = try MergeWorkload()
        for _ in 0..<5 { try work.write() }
        let path = work.store.path
        let (outside, old) = (try connect(path), try connect(path))
        let before = work.model.content
        try old.execute("BEGIN")
        #expect(try old.content(of: MergeWorkload.streams).difference(from: before) == nil)
        // A query that has returned some of its rows.
        let open = try connect(path).prepare("SELECT device_id, t FROM accelerometer")
        var rows = 0
        for _ in 0..<10 where try open.step() { rows += 1 }

        try work.startMerge()
        var slices = 0
        while work.store.isMerging {
            let snapshot = try connect(path)
            try snapshot.execute("BEGIN")
            #expect(try snapshot.content(of: MergeWorkload.streams).difference(from: work.model.content) == nil)
            try work.store.mergeSlice(maxDuration: .zero)
            slices += 1
            for reader in [outside, snapshot] {
                #expect(
                    try reader.content(of: MergeWorkload.streams).difference(from: work.model.content) == nil,
                    "slice \(slices)")
            }
            #expect(try old.content(of: MergeWorkload.streams).difference(from: before) == nil, "slice \(slices)")
        }
        // The rows are deleted by the last one.
        #expect(slices == MergeWorkload.deviceCount + 1)
        try work.store.database.checkpoint()
        #expect(try old.content(of: MergeWorkload.streams).difference(from: before) == nil)
        while try open.step() { rows += 1 }
        // Each group has three new samples of each device.
        #expect(rows == 5 * 3 * MergeWorkload.deviceCount)
        try old.execute("COMMIT")
        #expect(try old.content(of: MergeWorkload.streams).difference(from: work.model.content) == nil)
    }

    @Test("merging continues while a reader with an old snapshot prevents a complete checkpoint")
    func pinnedLog() throws {
        var work = try MergeWorkload()
        try work.write()
        let reader = try connect(work.store.path)
        try reader.execute("BEGIN; SELECT count(*) FROM _merge")
        let database = work.store.database
        try database.execute("CREATE TABLE filler (bytes)")
        while database.logPages < work.store.limits.checkpointPages {
            try database.execute("INSERT INTO filler VALUES (zeroblob(4000000)); DELETE FROM filler")
        }
        try work.startMerge()
        #expect(work.store.needsMaintenance)
        for _ in 0..<10 { work.store.performMaintenance() }
        #expect(work.store.merge == nil)
        #expect(try work.difference == nil)
        try reader.execute("COMMIT")
    }

    private func connect(_ path: String) throws -> SQLiteDatabase { try SQLiteDatabase(path: path, mode: .readOnly) }
}
