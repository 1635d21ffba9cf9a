import Testing

@testable import LockstepStore

@Suite("Placement of rows in runs")
struct RunPlacementTests {
    private func runs(_ parts: [(run: Int64, stream: Int64, devices: Int, rows: Int)], rowSize: Int = 45) -> RunSet {
        var runs = RunSet()
        for part in parts {
            runs.add(
                RunSet.Part(
                    run: part.run, stream: part.stream, rowSize: rowSize, devices: part.devices, rows: part.rows,
                    times: 1...2))
        }
        return runs
    }

    @Test(
        "rows of a device that fill less than half a page are moved to a run",
        arguments: [(1, 45, true), (45, 45, true), (46, 45, false), (20, 100, true), (21, 100, false), (0, 45, true)])
    func isMoved(rows: Int, size: Int, expected: Bool) {
        #expect(RunPlacement.isMoved(rows: rows, size: size) == expected)
    }

    @Test("the runs are merged when they fill two pages of each device and stream")
    func pages() {
        #expect(!RunPlacement.isFull(RunSet()))
        #expect(!RunPlacement.isFull(runs([(1, 1, 1000, 182_044)])))
        #expect(RunPlacement.isFull(runs([(1, 1, 1000, 182_045)])))
        #expect(RunPlacement.isFull(runs([(1, 1, 1000, 100_000), (2, 1, 900, 100_000)])))
        #expect(!RunPlacement.isFull(runs([(1, 1, 1000, 100_000), (2, 1, 1200, 100_000)])))
        // Two streams need four pages.
        #expect(!RunPlacement.isFull(runs([(1, 1, 1000, 200_000), (1, 2, 1000, 1000)])))
        #expect(RunPlacement.isFull(runs([(1, 1, 1000, 200_000), (1, 2, 90, 1000)])))
    }

    @Test("the runs are merged at 64 runs or 20 million rows")
    func limits() {
        #expect(!RunPlacement.isFull(runs((1...63).map { ($0, 1, 1000, 1) })))
        #expect(RunPlacement.isFull(runs((1...64).map { ($0, 1, 1000, 1) })))
        #expect(!RunPlacement.isFull(runs([(1, 1, 1_000_000, 19_999_999)])))
        #expect(RunPlacement.isFull(runs([(1, 1, 1_000_000, 19_999_999), (2, 2, 1, 1)])))
    }

    @Test("the runs are merged after twelve hours")
    func age() {
        #expect(!RunPlacement.isFull(runs([(1, 1, 1000, 1)]), age: .seconds(12 * 3600 - 1)))
        #expect(RunPlacement.isFull(runs([(1, 1, 1000, 1)]), age: .seconds(12 * 3600)))
        #expect(!RunPlacement.isFull(RunSet(), age: .seconds(12 * 3600)))
    }

    @Test("parts of a run are added up, and are found by their times")
    func parts() {
        var runs = RunSet()
        func add(_ run: Int64, _ stream: Int64, _ times: ClosedRange<Int64>) {
            runs.add(RunSet.Part(run: run, stream: stream, rowSize: 45, devices: 2, rows: 3, times: times))
        }
        add(1, 7, 10...20)
        add(1, 8, 10...90)
        add(1, 7, 5...8)
        add(2, 7, 30...40)
        #expect(runs.parts.count == 3 && runs.count == 2 && runs.rows == 12 && runs.lastRun == 2)
        #expect(runs.parts[0].times == 5...20 && runs.parts[0].devices == 4)
        #expect(runs.runs(with: 7, 20...30) == [1, 2])
        #expect(runs.runs(with: 7, 21...29) == [] && runs.runs(with: 8, 21...29) == [1])
        #expect(runs.runs(with: 9, 0...99) == [])
    }

    @Test("keys of a run are in the order of run, device, stream and number")
    func keys() {
        let ranges = [
            RunKey.range(run: 1, device: 1, stream: 0), RunKey.range(run: 1, device: 1, stream: LogKey.maxStream),
            RunKey.range(run: 1, device: 2, stream: 3), RunKey.range(run: 1, device: LogKey.maxDevice, stream: 511),
            RunKey.range(run: 2, device: 0, stream: 0), RunKey.range(run: RunKey.maxRun, device: 1, stream: 1),
        ]
        for (lower, upper) in zip(ranges, ranges.dropFirst()) { #expect(lower.upperBound < upper.lowerBound) }
        #expect(RunKey.range(run: RunKey.maxRun, device: LogKey.maxDevice, stream: 511).upperBound == .max)
    }
}
