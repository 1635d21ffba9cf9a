import LockstepModel
import Testing

@testable import LockstepStore

@Suite("Index of what waits")
struct WaitingIndexTests {
    private func entry(_ n: Int64, _ times: ClosedRange<Int64>, table: Int = 0, scope: Int? = nil) -> WaitingIndex.Entry
    {
        var entry = WaitingIndex.Entry(n: n, size: 100, received: 1000 + n)
        entry.samples = 2
        entry.table = table
        entry.times = times
        entry.hasRows = true
        entry.scope = scope
        return entry
    }

    /// An index with rows of device 1 in table 0: 10…19, 20…29, and backlog 0…4 and 5…24.
    private var index: WaitingIndex {
        var index = WaitingIndex()
        for (n, times) in [10...19, 20...29, 0...4, 5...24 as ClosedRange<Int64>].enumerated() {
            index.add(entry(Int64(n) + 1, times, scope: 5), of: 1)
            index.commit()
        }
        return index
    }

    private func rows(_ index: WaitingIndex, _ times: ClosedRange<Int64>, table: Int = 0) -> [Int64] {
        index.devices[1]?.rows(of: table, overlapping: times).map(\.n) ?? []
    }

    @Test(
        "rows that overlap a range are found, in order of their first times",
        arguments: [
            (30...99, []), (29...99, [2]), (25...25, [2]), (22...24, [4, 2]), (19...20, [4, 1, 2]), (4...5, [3, 4]),
            (0...99, [3, 4, 1, 2]), (-9 ... -1, []), (-9...0, [3]),
        ] as [(ClosedRange<Int64>, [Int64])])
    func overlaps(times: ClosedRange<Int64>, expected: [Int64]) {
        #expect(rows(index, times) == expected)
        #expect(rows(index, times, table: 1).isEmpty)
        #expect(index.devices[2] == nil && index.devices[1]?.newest(of: 0) == 29)
    }

    @Test("a rollback reverts rows, counters and epochs, and removes new devices")
    func rollBack() {
        var index = index
        let before = index.devices[1]?.figures
        for _ in 0..<2 {
            index.add(entry(5, 12...13, scope: 6), of: 1)
            index.add(entry(6, 12...500, table: 3), of: 1)
            index.add(entry(7, 12...13), of: 2)
            var receipt = WaitingIndex.Entry(n: 8, size: 60, received: 5)
            receipt.scope = 5
            index.add(receipt, of: 3)
            #expect(rows(index, 12...13) == [4, 1, 5] && index.rowCount == 8 && index.size == 760)
            #expect(index.streamCount == 3 && index.rowCounts == [0: 6, 3: 1])
            index.rollBack()
            #expect(rows(index, 12...13) == [4, 1] && rows(index, 12...13, table: 3).isEmpty)
            #expect(index.rowCount == 4 && index.size == 400 && index.devices[1]?.figures == before)
            #expect(index.streamCount == 1 && index.rowCounts[0] == 4 && index.rowCounts[3] == 0)
            #expect(index.devices[1]?.scopes == [5] && index.devices.keys == [1])
            #expect(index.devices[1]?.newest(of: 3) == nil)
        }
        // A committed transaction cannot be reverted.
        index.add(entry(5, 12...13), of: 2)
        index.commit()
        index.rollBack()
        #expect(index.devices.keys == [1, 2] && index.streamCount == 2)
    }

    @Test("estimates of clocks count neither as samples nor as messages")
    func estimates() {
        var index = WaitingIndex()
        var estimate = WaitingIndex.Entry(n: 1, size: 60, received: nil)
        estimate.table = ClockTable.table
        estimate.times = 7...7
        estimate.hasRows = true
        index.add(estimate, of: 1)
        #expect(index.devices[1]?.figures == WaitingIndex.Figures())
        #expect(rows(index, 7...7, table: ClockTable.table) == [1])
    }
}
