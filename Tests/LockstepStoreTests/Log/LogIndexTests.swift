import LockstepModel
import Testing

@testable import LockstepStore

@Suite("Index of a log")
struct LogIndexTests {

    private func segment(_ times: ClosedRange<Int64>, turn: Int64) -> LogIndex.Segment {
        LogIndex.Segment(first: times.lowerBound, last: times.upperBound, turn: turn)
    }

    private func turns(_ index: LogIndex, _ times: ClosedRange<Int64>, table: Int = 0) -> [Int64] {
        var turns: [Int64] = []
        index.devices[1]?.forEachSegment(of: table, overlapping: times) { turns.append($0.turn) }
        return turns
    }

    /// An index with segments of device 1 in table 0: 10…19, 20…29, and backlog 0…4 and 5…24.
    private var index: LogIndex {
        var index = LogIndex()
        for (turn, times) in [10...19, 20...29, 0...4, 5...24 as ClosedRange<Int64>].enumerated() {
            index.add(
                segment(times, turn: Int64(turn) + 1), newest: times.upperBound, count: 2, of: 0, device: 1)
            index.commit()
        }
        return index
    }

    @Test(
        "segments that overlap a range are found, in order of their first times",
        arguments: [
            (30...99, []), (29...99, [2]), (25...25, [2]), (22...24, [4, 2]), (19...20, [4, 1, 2]), (4...5, [3, 4]),
            (0...99, [3, 4, 1, 2]), (-9 ... -1, []), (-9...0, [3]),
        ] as [(ClosedRange<Int64>, [Int64])])
    func overlaps(times: ClosedRange<Int64>, expected: [Int64]) {
        #expect(turns(index, times) == expected)
        #expect(turns(index, times, table: 1).isEmpty)
        #expect(index.devices[2] == nil)
    }

    @Test(
        "a segment keeps its times and turn, and one of many years covers at least its times",
        arguments: [0...0, -5...7, start...start + 3_600_000_000, -(1 << 53)...1 << 53] as [ClosedRange<Int64>],
        [1, LogKey.maxTurn])
    func segments(times: ClosedRange<Int64>, turn: Int64) {
        let segment = segment(times, turn: turn)
        #expect(segment.first == times.lowerBound && segment.turn == turn)
        #expect(times.count < 1 << 51 ? segment.last == times.upperBound : segment.last == .max)
    }

    @Test("the turns of a stream are listed once, and rows are counted by device and in all")
    func turnsAndRows() throws {
        var index = index
        index.add(segment(40...41, turn: 2), newest: 41, count: 2, of: 0, device: 1)
        index.add(segment(40...41, turn: 2), newest: 41, count: 5, of: 1, device: 2)
        let stream = try #require(index.devices[1]?.streams.first)
        #expect(stream.turns.sorted() == [1, 2, 3, 4] && stream.newest == 41)
        #expect(index.rows == 15 && index.devices[1]?.rows == 10 && index.devices[2]?.rows == 5)
        #expect(index.contains(anyOf: [1]) && index.contains(anyOf: [0, 9]) && !index.contains(anyOf: [2]))
        #expect(!index.contains(anyOf: []))
    }

    @Test("a rollback reverts segments, counters and epochs, and removes new devices")
    func rollBack() {
        var index = index
        index.update(1) { device in
            device.figures.samples = 8
            device.figures.recordMessage(at: 100)
            device.add(scope: 5)
        }
        index.commit()
        let before = index.devices[1]?.figures
        for _ in 0..<2 {
            index.add(segment(12...13, turn: 5), newest: 13, count: 2, of: 0, device: 1)
            index.add(segment(12...13, turn: 5), newest: 13, count: 2, of: 3, device: 1)
            index.add(segment(12...13, turn: 5), newest: 13, count: 2, of: 0, device: 2)
            index.update(1) { device in
                device.figures.samples += 4
                device.figures.recordMessage(at: 50)
                device.figures.recordSample(at: 500)
                device.add(scope: 6)
            }
            index.update(3) { $0.add(scope: 5) }
            #expect(turns(index, 12...13) == [4, 1, 5] && index.rows == 14)
            index.rollBack(turn: 5)
            #expect(turns(index, 12...13) == [4, 1] && turns(index, 12...13, table: 3).isEmpty)
            #expect(index.rows == 8 && index.devices[1]?.rows == 8 && index.devices[1]?.figures == before)
            #expect(index.devices[1]?.scopes == [5])
            #expect(index.devices.keys == [1] && index.deviceCount == 1)
        }
        // A committed transaction cannot be reverted.
        index.add(segment(12...13, turn: 5), newest: 13, count: 2, of: 0, device: 2)
        index.commit()
        index.rollBack(turn: 6)
        #expect(index.devices[2]?.rows == 2 && index.rows == 10)
    }
}
