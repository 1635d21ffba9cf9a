import LockstepModel
import Testing

@testable import LockstepStore

@Suite("Placement of rows")
struct RowPlacementTests {
    /// A run of a stream with a number of samples.
    private func run(_ stream: SensorStream = .accelerometer, _ count: Int) -> SampleRun {
        var run = SampleRun(device: device("one"), stream: stream)
        let times = (0..<count).map { start + Int64($0) }
        let columns = stream.columns.map { _ in [Double](repeating: 0, count: count) }
        run.append(
            Batch(position: nil, samples: SampleBlock(stream: stream, times: times, columns: columns)), at: time(0))
        return run
    }

    @Test(
        "runs of two pages and runs of devices with many rows in the log are written directly",
        arguments: [
            (.accelerometer, 1, 0, false), (.accelerometer, 182, 0, false), (.accelerometer, 183, 0, true),
            (.deviceMotion, 45, 0, false), (.deviceMotion, 46, 0, true), (.accelerometer, 1, 7999, false),
            (.accelerometer, 1, 8000, true), (.accelerometer, 0, 0, false),
        ] as [(SensorStream, Int, Int, Bool)])
    func size(stream: SensorStream, count: Int, rowsInLog: Int, expected: Bool) {
        #expect(RowPlacement().isDirect(run(stream, count), rowsInLog: rowsInLog) == expected)
    }

    @Test(
        "rows are written directly after a transaction of several parts with many rows per device",
        arguments: [
            // The first part is not evaluated: whether there are several is not known yet.
            ([[30], [30]], true), ([[30], [29]], false), ([[100]], false), ([[1], [40, 40]], true),
            ([[1], [40, 19]], false), ([[1], [31, 29]], true), ([[1], []], true),
        ] as [([[Int]], Bool)])
    func load(parts: [[Int]], expected: Bool) {
        var placement = RowPlacement()
        for part in parts {
            placement.beginPart(samples: 0)
            for (device, count) in part.enumerated() { placement.add(run(count), table: 0, device: Int64(device)) }
        }
        #expect(!placement.isBusy)
        placement.commit()
        #expect(placement.isBusy == expected)
        #expect(placement.isDirect(run(1), rowsInLog: 0) == expected)
        // A transaction of one part ends it. One that is rolled back does not count.
        placement.beginPart(samples: 0)
        placement.rollBack()
        #expect(placement.isBusy == expected)
        placement.beginPart(samples: 0)
        placement.add(run(100), table: 0, device: 1)
        placement.commit()
        #expect(!placement.isBusy)
    }

    @Test(
        "rows of a large part are written directly if there are many per device",
        arguments: [(9999, 100, false), (10_000, 100, true), (10_000, 29, false), (10_000, 30, true)])
    func largePart(samples: Int, rows: Int, expected: Bool) {
        var placement = RowPlacement()
        placement.beginPart(samples: samples)
        #expect(placement.isDirect(run(rows), rowsInLog: 0) == expected)
        placement.beginPart(samples: 1)
        #expect(!placement.isDirect(run(100), rowsInLog: 0))
    }

    private func run(_ count: Int) -> SampleRun { run(.accelerometer, count) }
}
