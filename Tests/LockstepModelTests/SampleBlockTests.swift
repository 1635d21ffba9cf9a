import LockstepModel
import Testing

@Suite("SampleBlock")
struct SampleBlockTests {
    @Test("a sample with an invalid required value is incomplete")
    func wrongKind() {
        var steps = SampleBlock(stream: .steps)
        for (time, count) in [(1, 4.0), (2, 4.5), (3, 9_007_199_254_740_992)] as [(Int64, Double)] {
            steps.append(time: Timestamp(microseconds: time), values: [0, count, .nan, .nan, .nan, .nan])
        }
        #expect(!steps.isComplete)
        #expect(steps.droppingIncomplete().times == [1])
        var orientation = SampleBlock(stream: .orientation)
        for (time, word) in [(1, 5.0), (2, 6), (3, -1), (4, 0.5)] as [(Int64, Double)] {
            orientation.append(time: Timestamp(microseconds: time), values: [word])
        }
        #expect(orientation.droppingIncomplete().times == [1])
    }

    @Test("appended samples are in the block")
    func appending() {
        var block = SampleBlock(stream: .accelerometer)
        #expect(block.isEmpty)
        block.append(time: Timestamp(microseconds: 1), values: [1, 2, 3])
        block.append(time: Timestamp(microseconds: 2), values: [4, 5, 6])
        #expect(block.count == 2)
        #expect(block.times == [1, 2])
        #expect(block.columns == [[1, 4], [2, 5], [3, 6]])
        #expect(block.values(at: 1) == [4, 5, 6])
    }

    @Test("blocks with equal times and values are equal, and null equals null")
    func equality() {
        let nulls = location(lat: 1, alt: .nan)
        #expect(nulls == location(lat: 1, alt: .nan))
        #expect(nulls != location(lat: 1, alt: 0))
        #expect(nulls != location(lat: 2, alt: .nan))
        #expect(nulls != location(time: 8, lat: 1, alt: .nan))
    }

    @Test("blocks of different streams are not equal")
    func streams() {
        let values: [[Double]] = [[1], [2], [3]]
        #expect(
            SampleBlock(stream: .accelerometer, times: [1], columns: values)
                != SampleBlock(stream: .gyroscope, times: [1], columns: values))
    }

    private func location(time: Int64 = 7, lat: Double, alt: Double) -> SampleBlock {
        var values = Array(repeating: Double.nan, count: SensorStream.location.columns.count)
        values[0] = lat
        values[2] = alt
        var block = SampleBlock(stream: .location)
        block.append(time: Timestamp(microseconds: time), values: values)
        return block
    }
}

@Suite("Built-in streams")
struct SensorStreamTests {
    @Test("names, tables and column names are unique", arguments: SensorStream.builtIn)
    func names(_ stream: SensorStream) {
        #expect(StreamCatalog.builtIn.stream(named: stream.name) == stream)
        #expect(StreamCatalog.builtIn.stream(named: stream.table) == stream)
        #expect(!stream.isDeclared && !stream.table.hasPrefix("x_"))
        #expect(Set(stream.columns.map(\.name)).count == stream.columns.count)
        #expect(!stream.columns.isEmpty)
        #expect(SensorStream.builtIn.count { $0.table == stream.table } == 1)
    }

    @Test("an unknown name has no stream")
    func unknown() { #expect(StreamCatalog.builtIn.stream(named: "motion/step") == nil) }

    @Test("the columns of a stream are as specified")
    func columns() {
        #expect(SensorStream.accelerometer.columns.map(\.name) == ["x", "y", "z"])
        #expect(
            SensorStream.steps.columns.map(\.name) == ["start", "steps", "distance", "pace", "avg_pace", "cadence"])
        #expect(
            SensorStream.location.columns.map(\.name)
                == ["lat", "lon", "alt", "hacc", "vacc", "speed", "course", "fix", "at"])
    }

    @Test("incomplete samples are dropped, but samples without optional values are kept")
    func incomplete() {
        let motion = SampleBlock(
            stream: .gyroscope, times: [1, 2, 3], columns: [[1, .nan, 3], [0, 0, 0], [0, 0, .infinity]])
        #expect(motion.droppingIncomplete() == SampleBlock(stream: .gyroscope, times: [1], columns: [[1], [0], [0]]))
        var noFix = SampleBlock(stream: .location)
        noFix.append(time: Timestamp(microseconds: 1), values: Array(repeating: .nan, count: 9))
        #expect(noFix.droppingIncomplete() == noFix)
        let battery = SampleBlock(stream: .battery, times: [1, 2], columns: [[80, 0.5], [0, 0]])
        #expect(
            battery.droppingIncomplete()
                == SampleBlock(stream: .battery, times: [1, 2], columns: [[.nan, 0.5], [0, 0]]))
        let pressure = SampleBlock(stream: .pressure, times: [1, 2], columns: [[-5, 1013]])
        #expect(pressure.droppingIncomplete().times == [2])
    }
}
