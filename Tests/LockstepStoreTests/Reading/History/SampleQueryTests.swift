import Foundation
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Queries of one device", .temporaryFolder)
struct SampleQueryTests {
    private func rows(_ reader: StoreReader, _ query: SampleQuery) throws -> (times: [Int64], isCut: Bool) {
        var times: [Int64] = []
        let isCut = try reader.run(query) { time, values in
            #expect(values.count == query.columns.count)
            times.append(time.microseconds - start)
        }
        return (times, isCut)
    }

    @Test("only rows of the device and the range are returned, up to the limit")
    func limits() throws {
        let reader = try readerOfThreeDevices()
        var query = SampleQuery(device: device("a"), stream: .accelerometer)
        func check(_ times: [Int64], _ isCut: Bool) throws {
            let found = try rows(reader, query)
            #expect(found.times == times && found.isCut == isCut)
        }
        try check([1, 2, 3], false)
        query.limit = 3
        try check([1, 2, 3], false)
        query.limit = 2
        try check([1, 2], true)
        query.limit = 0
        try check([], true)
        query = SampleQuery(device: device("a"), stream: .accelerometer, from: time(2), to: time(3))
        try check([2], false)
        query = SampleQuery(device: device("b"), stream: .accelerometer, detail: .last)
        try check([6], false)
        query = SampleQuery(device: device("b"), stream: .accelerometer, detail: .averages(span: 2))
        try check([4, 6], false)
        query = SampleQuery(device: device("c"), stream: .accelerometer)
        try check([], false)
    }

    @Test("a cancelled query ends with an error, before its first row and between rows")
    func cancellation() throws {
        let reader = try readerOfThreeDevices()
        let query = SampleQuery(device: device("a"), stream: .accelerometer)
        let cancellation = QueryCancellation()
        var rows = 0
        let between = try storeError {
            try reader.run(query, cancellation: cancellation) { _, _ in
                rows += 1
                if rows == 2 { cancellation.cancel() }
            }
        }
        #expect(between.code == .cancelled && rows == 2)
        let before = try storeError { try reader.run(query, cancellation: cancellation) { _, _ in rows += 1 } }
        #expect(before.code == .cancelled && rows == 2)
        let asked = EnvelopeQuery(
            device: device("a"), stream: .accelerometer, from: time(0), to: time(9), points: 3)
        #expect(try storeError { _ = try reader.envelope(asked, cancellation: cancellation) }.code == .cancelled)
        #expect(try storeError { _ = try reader.everyNth(asked, cancellation: cancellation) }.code == .cancelled)
        #expect(try storeError { _ = try reader.overviews(cancellation: cancellation) }.code == .cancelled)
        // The reader can be used again.
        #expect(try self.rows(reader, query).times == [1, 2, 3])
        #expect(try reader.envelope(asked, cancellation: QueryCancellation()).buckets.count == 2)
    }

    @Test("a statement that finds no rows for a long time ends soon after another thread cancels it")
    func longStatement() throws {
        let database = try newDatabase()
        let cancellation = QueryCancellation()
        Thread.detachNewThread { cancellation.cancel() }
        let error = #expect(throws: SQLiteError.self) {
            try database.interruptible(by: cancellation.interruption) {
                try database.prepare(
                    """
                    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 500000000)
                    SELECT count(*) FROM n
                    """
                ).run()
            }
        }
        #expect(error?.isInterrupted == true)
        #expect(try database.integer("SELECT 1") == 1)
    }
}
