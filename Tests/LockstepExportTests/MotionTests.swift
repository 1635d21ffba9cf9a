import LockstepModel
import LockstepStore
import Testing

@testable import LockstepExport

@Suite("Motion, merged by time")
struct MotionTests {
    static let streams: [SensorStream] = [.accelerometer, .gyroscope]

    @Test("wide CSV has a row for each time of a device, and empty values of the other streams")
    func csv() {
        let rows = [
            (row("left", 1, [1, 2, 3]), 0), (row("left", 1, [4, 5, 6]), 1), (row("left", 2, [7, 8, 9]), 1),
            (row("right", 2, [1, 1, 1]), 0),
        ]
        #expect(
            exported(MotionCSVWriter(streams: Self.streams), rows) == """
                group,device,t,time,accelerometer_x,accelerometer_y,accelerometer_z,gyroscope_x,gyroscope_y,gyroscope_z
                lab,left,1,1970-01-01T00:00:00.000001Z,1.0,2.0,3.0,4.0,5.0,6.0
                lab,left,2,1970-01-01T00:00:00.000002Z,,,,7.0,8.0,9.0
                lab,right,2,1970-01-01T00:00:00.000002Z,1.0,1.0,1.0,,,

                """)
    }

    @Test("NDJSON has an object for each sample, with the name of its stream")
    func ndjson() {
        let rows = [(row("left", 1, [1, 2, 3]), 0), (row("left", 1, [4, 5, .nan]), 1)]
        #expect(
            exported(MotionNDJSONWriter(streams: Self.streams), rows) == """
                {"group":"lab","device":"left","stream":"motion/accelerometer","t":1,\
                "time":"1970-01-01T00:00:00.000001Z","x":1.0,"y":2.0,"z":3.0}
                {"group":"lab","device":"left","stream":"motion/gyroscope","t":1,\
                "time":"1970-01-01T00:00:00.000001Z","x":4.0,"y":5.0,"z":null}

                """)
    }

    private func exported(_ writer: some RowWriter, _ rows: [(SampleRow, Int)]) -> String {
        var writer = writer
        var output = OutputBuffer()
        writer.begin(into: &output)
        for (row, stream) in rows { writer.write(row, stream: stream, into: &output) }
        writer.end(into: &output)
        return String(decoding: output.bytes, as: UTF8.self)
    }
}
