import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Merges of runs", .temporaryFolder)
struct RunMergeTests {
    private let options = MergeWorkload.options(usesRuns: true)

    /// Moves the rows of the active log to a run.
    private func move(_ store: SQLiteStore) throws {
        try store.startMerge(of: store.activeLog)
        try store.finishMerge()
    }

    @Test("a merge counts the rows of the active log from its start, also after a restart")
    func restart() throws {
        let path = TemporaryFolder.path + "/store"
        do {
            let store = try SQLiteStore(path: path, options: options)
            try store.write(received(acceleration(0..<10)), received(acceleration(0..<10), from: device("two")))
            try move(store)
            try store.write(received(acceleration(10..<15)))
            try store.startRunMerge()
            try store.mergeSlice(maxDuration: .zero)
        }
        let store = try SQLiteStore(path: path, options: options)
        #expect(store.activeLog == .second && store.runMerge != nil)
        #expect(store.mergeStartRows == 5)
        try store.mergeLogs()
        #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == 25)
    }

    @Test("the progress follows the devices and the deleted rows")
    func progress() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store", options: options)
        for name in ["one", "two"] { try store.write(received(acceleration(0..<40), from: device(name))) }
        try move(store)
        try store.startRunMerge()
        var progress: [Double] = []
        while let merge = store.runMerge {
            progress.append((merge.progress * 100).rounded())
            try store.mergeSlice(maxDuration: .zero)
        }
        // Ten of eighty rows are deleted at once.
        #expect(Array(progress.prefix(11)) == [0, 40, 80, 83, 85, 88, 90, 93, 95, 98, 100])
    }

    @Test("devices without rows in the runs take no slice, and rows of a deleted device are dropped")
    func gaps() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store", options: options)
        for number in 1...9 { try store.write(IngestGroup(seen: [device("d\(number)"): time(0)])) }
        try move(store)
        for round in 0..<2 {
            for name in ["d2", "d5", "d9"] {
                let first = Int64(round * 10)
                try store.write(received(acceleration(first..<first + 10), from: device(name)))
            }
            try move(store)
        }
        #expect(store.runs.count == 2)
        try store.database.execute("DELETE FROM merged_devices WHERE device_id = 5")
        try store.startRunMerge()
        var slices = 0
        while store.runMerge?.progress ?? 1 < 0.8 {
            try store.mergeSlice(maxDuration: .zero)
            slices += 1
        }
        #expect(slices == 3)
        try store.finishMerge()
        #expect(
            try store.database.rows("SELECT device_id, count(*) FROM merged_accelerometer GROUP BY 1") == [
                "2|20", "9|20",
            ])
    }

    @Test("runs are merged when the first one is old, even if nothing is added to them")
    func age() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store", options: options)
        try store.write(received(acceleration(0..<10)))
        try move(store)
        try store.write(received(acceleration(10..<11)))
        #expect(!store.isMerging)
        store.runsStart = .now - RunPlacement.maxAge
        try store.write(received(acceleration(11..<12)))
        #expect(store.runMerge != nil)
        try store.finishMerge()
        #expect(store.runs.isEmpty && store.runsStart == nil)
    }
}
