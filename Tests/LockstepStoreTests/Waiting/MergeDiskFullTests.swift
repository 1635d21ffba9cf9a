import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("A full disk during merges", .temporaryFolder)
struct MergeDiskFullTests {
    @Test("with any number of free pages, merges and commits lose and double nothing, and succeed with more space")
    func everyLimit() throws {
        var work = try MergeWorkload()
        for _ in 0..<30 { try work.write() }
        try work.startMerge()
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
        #expect(failedSlices > 0 && failedCommits > 0, "\(failedSlices), \(failedCommits)")
        try work.store.database.execute("PRAGMA max_page_count = 1000000")
        try work.write()
        try work.repeatAll()
        try work.store.mergeAll()
        try work.repeatAll()
        try work.store.mergeAll()
        #expect(try work.difference == nil)
        #expect(try work.store.database.integer("SELECT count(*) FROM _waiting") == 0)
    }
}
