import LockstepModel
import LockstepMotion
import Testing

@Suite("Pedometer data")
struct PedometerDataTests {
    private func at(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1e6)) }

    /// Returns rows with start and end in s, steps, distance in m, pace and cadence.
    private func rows(_ rows: [(Double, Double, Double, Double, Double, Double)]) -> SampleBlock {
        var block = SampleBlock(stream: .steps)
        for row in rows {
            block.append(time: at(row.1), values: [row.0 * 1e6, row.2, row.3, row.4, .nan, row.5])
        }
        return block
    }

    @Test("whole rows within the interval are summed")
    func sums() throws {
        let rows = rows([
            (0, 1, 2, 1.4, 0.7, 2), (10, 12, 4, 3, 0.6, 2.1), (12, 13, 2, 1.5, 0.65, 2.2), (30, 31, 2, 9, 1, 1),
        ])
        let data = try #require(PedometerData(rows: rows, from: at(5), to: at(14)))
        #expect(data.numberOfSteps == 6)
        #expect(data.distance == 4.5)
        #expect(data.averageActivePace == 3 / 4.5)
        #expect(data.currentPace == 0.65 && data.currentCadence == 2.2)
        #expect(data.startDate == at(5) && data.endDate == at(14))
        let later = try #require(PedometerData(rows: rows, from: at(5), to: at(20)))
        #expect(later.numberOfSteps == 6)
        #expect(later.currentPace == nil && later.currentCadence == nil)
    }

    @Test("a row that is partly within the interval contributes in proportion to time")
    func parts() throws {
        let rows = rows([(0, 10, 20, 14, 0.7, 2)])
        let data = try #require(PedometerData(rows: rows, from: at(2.5), to: at(5)))
        #expect(data.numberOfSteps == 5)
        #expect(data.distance == 3.5)
        #expect(data.averageActivePace == 2.5 / 3.5)
        #expect(data.currentCadence == 2)
    }

    @Test("the counts of adjacent intervals add up to the count of the whole")
    func adjacent() throws {
        let rows = rows(
            (0..<9).map { (index: Int) in
                let start = Double(index) * 1.3
                return (start, start + 1.2, Double(index % 4 + 1), 1.0, 1.0, 1.0)
            })
        let whole = try #require(PedometerData(rows: rows, from: at(-1), to: at(20)))
        #expect(whole.numberOfSteps == 21)
        for length in [0.07, 0.5, 0.9, 3.3] {
            var sum = 0
            var distance = 0.0
            for start in stride(from: -1, to: 21, by: length) {
                let part = try #require(PedometerData(rows: rows, from: at(start), to: at(start + length)))
                #expect(part.numberOfSteps >= 0)
                sum += part.numberOfSteps
                distance += part.distance ?? 0
            }
            #expect(sum == 21)
            #expect(abs(distance - 9) < 1e-3)
        }
    }

    @Test("without rows there are no steps, no distance and no pace")
    func nothing() throws {
        let empty = SampleBlock(stream: .steps)
        let data = try #require(PedometerData(rows: empty, from: at(0), to: at(5)))
        #expect(data == PedometerData(startDate: at(0), endDate: at(5), numberOfSteps: 0, distance: 0))
    }

    @Test("the distance is unknown if that of one row is unknown")
    func unknown() throws {
        let rows = rows([(0, 1, 2, 1.4, 0.7, 2), (1, 2, 2, .nan, .nan, .nan)])
        let data = try #require(PedometerData(rows: rows, from: at(0), to: at(2)))
        #expect(data == PedometerData(startDate: at(0), endDate: at(2), numberOfSteps: 4))
        let before = try #require(PedometerData(rows: rows, from: at(0), to: at(1)))
        #expect(before.distance == 1.4)
    }

    @Test("an empty interval yields no data")
    func backward() {
        let data = PedometerData(rows: SampleBlock(stream: .steps), from: at(2), to: at(2))
        #expect(data == nil)
    }
}
