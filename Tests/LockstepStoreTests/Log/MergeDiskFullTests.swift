import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("A full disk during merges", .temporaryFolder)
struct MergeDiskFullTests {
    @Test(
        "with any number of free pages, merges and commits lose and double nothing, and succeed with more space",
        arguments: [MergeKind.log, .logToRun, .runs])
    func everyLimit(kind: MergeKind) throws {
        var work = try MergeWorkload(usesRuns: kind != .log)
        for round in 0..<(kind == .logToRun ? 12 : 30) {
            try work.write()
            // A run has few rows of each device.
            guard kind == .runs, round % 6 == 5 else { continue }
            try work.startMerge()
            try work.store.finishMerge()
        }
        if kind == .runs { try work.startRunMerge() } else { try work.startMerge() }
        var failedSlices = 0
        var failedCommits = 0
        var limit = try work.store.database.integer("PRAGMA page_count")
        while work.store.isMerging {
            try work.store.database.execute("PRAGMA max_page_count = \(limit)")
            do {
                while work.store.isMerging {
                    try work.store.mergeSlice(maxDuration: .zero)
                    #expect(try work.difference == nil)
                }
            } catch let error as SQLiteError {
                #expect(error.isFull)
                failedSlices += 1
            }
            try #require(try work.difference == nil, "\(limit) pages")
            // Maintenance does not throw.
            work.store.performMaintenance()
            try #require(try work.difference == nil, "\(limit) pages")
            do {
                // The last page of a log has space for some commits.
                for _ in 0..<(failedCommits == 0 ? 12 : 1) { try work.write() }
            } catch let error as StoreError {
                #expect(error.isFull)
                failedCommits += 1
            }
            try #require(try work.difference == nil, "\(limit) pages")
            // More than a commit needs, so that the merge progresses.
            limit += 2
        }
        // A log that fits into a run is short.
        #expect(failedSlices > (kind == .logToRun ? 0 : 5) && failedCommits > 0, "\(failedSlices), \(failedCommits)")
        try work.store.database.execute("PRAGMA max_page_count = 1000000")
        try work.write()
        try work.repeatAll()
        try work.store.mergeLogs()
        try work.repeatAll()
        try work.store.mergeLogs()
        #expect(try work.difference == nil)
        #expect(try work.store.database.integer("SELECT count(*) FROM log1_narrow") == 0)
        #expect(try work.store.database.integer("SELECT count(*) FROM run_narrow") == 0)
    }

    enum MergeKind {
        /// Of a log into the tables.
        case log
        /// Of a log into a run and the tables.
        case logToRun
        case runs
    }
}
