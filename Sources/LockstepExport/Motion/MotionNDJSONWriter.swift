import LockstepModel
import LockstepStore

/// Writes the samples of several streams as one JSON object per line, each with the name of its stream.
struct MotionNDJSONWriter: ExportWriter {
    private var rows: [NDJSONWriter]

    init(streams: [SensorStream], bound: [ExportColumn] = []) {
        rows = streams.map { NDJSONWriter(columns: $0.columns.map(ExportColumn.init) + bound, stream: $0.name) }
    }

    func begin(into output: inout OutputBuffer) {}
    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        rows[stream].write(row, into: &output)
    }
    func endPass(into output: inout OutputBuffer) -> Bool { false }
    func end(into output: inout OutputBuffer) {}
}
