import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Crashes during merges", .temporaryFolder)
struct CrashTests {
    /// A state of the files after a transaction.
    private struct Point {
        /// The size of the write-ahead log in bytes.
        let logSize: Int
        let content: StoreContent
        let groups: [IngestGroup]
    }

    private let folder = TemporaryFolder.path

    @Test("after a crash at any transaction, each committed row is shown once, and the merge is completed")
    func crashAtEachTransaction() throws {
        var work = try MergeWorkload()
        // Later content is in the write-ahead log only, so that a prefix of it is the state after a crash.
        try work.store.database.checkpoint(truncate: true)
        var points: [Point] = []
        func record() throws {
            points.append(Point(logSize: try logSize(), content: work.model.content, groups: work.groups))
        }
        for _ in 0..<3 {
            try work.write()
            try record()
        }
        try work.startMerge()
        try record()
        // The first merge overlaps with writing. The second one merges rows into tables with rows.
        for _ in 0..<4 {
            while work.store.isMerging {
                try work.store.mergeSlice(maxDuration: .zero)
                try record()
                if points.count % 3 == 0 {
                    try work.write()
                    try record()
                }
            }
            try work.store.startMerge()
        }
        let final = try logSize()
        #expect(points.count > 20 && points.last?.logSize == final)
        for (index, point) in points.enumerated() {
            try check(point, cutAt: point.logSize)
            // A crash within the next transaction leaves a part of its frames.
            let next = index + 1 < points.count ? points[index + 1].logSize : final
            if next > point.logSize { try check(point, cutAt: next - frameSize / 2) }
        }
        withExtendedLifetime(work) {}
    }

    /// Checks the store whose write-ahead log was cut off at a size.
    private func check(_ point: Point, cutAt size: Int) throws {
        let copy = folder + "/copy"
        for suffix in ["", "-wal", "-shm", "-lock"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
        try FileManager.default.copyItem(atPath: folder + "/store", toPath: copy)
        let log = try Data(contentsOf: URL(filePath: folder + "/store-wal"))
        try log.prefix(size).write(to: URL(filePath: copy + "-wal"))

        let store = try SQLiteStore(path: copy, options: MergeWorkload.options)
        func expectContent(_ expected: StoreContent, _ what: String) throws {
            let difference = try store.database.content(of: MergeWorkload.streams).difference(from: expected)
            try #require(difference == nil, "\(what) after a crash at \(size)")
        }
        try expectContent(point.content, "opening")
        while store.isMerging {
            try store.mergeSlice(maxDuration: .zero)
            try expectContent(point.content, "a slice")
        }
        // Everything that is sent again is a duplicate.
        var model = StoreModel(streams: MergeWorkload.streams)
        for group in point.groups { _ = model.write(group) }
        for group in point.groups {
            let result = try store.write(group)
            #expect(result == model.write(group), "at \(size)")
            #expect(result.devices.values.allSatisfy { $0.stored == 0 && $0.conflicts == 0 }, "at \(size)")
        }
        try store.mergeAll()
        try expectContent(model.content, "everything")
        #expect(try store.database.integer("SELECT device_done + (SELECT count(*) FROM _waiting) FROM _merge") == 0)
    }

    private let frameSize = StoreSchema.pageSize + 24

    private func logSize() throws -> Int { try Data(contentsOf: URL(filePath: folder + "/store-wal")).count }
}
