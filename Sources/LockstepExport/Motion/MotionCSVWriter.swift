import LockstepModel
import LockstepStore

/// Writes the samples of several streams as wide CSV: a row for each time of a device at which any stream has a sample.
///
/// The columns are `group`, `device`, `t` (µs since 1970), `time` (ISO 8601 in UTC), then those of each stream, named
/// after its table: `accelerometer_x`. Values of streams without a sample at that time are empty.
struct MotionCSVWriter: RowWriter {
    private var rows: CSVWriter
    /// The index of the first column of each stream.
    private var offsets: [Int] = []
    private let empty: [Double]
    /// The row whose time may still have samples of other streams.
    private var pending: SampleRow?
    private var values: [Double] = []

    init(streams: [SensorStream], bound: [ExportColumn] = []) {
        var columns: [ExportColumn] = []
        for stream in streams {
            offsets.append(columns.count)
            let all = stream.columns.map(ExportColumn.init) + bound
            columns += all.map { ExportColumn(name: "\(stream.table)_\($0.name)", kind: $0.kind) }
        }
        rows = CSVWriter(columns: columns)
        empty = Array(repeating: .nan, count: columns.count)
    }

    mutating func begin(into output: inout OutputBuffer) { rows.begin(into: &output) }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        if row.time != pending?.time || row.device != pending?.device {
            writePending(into: &output)
            pending = row
            values = empty
        }
        for (index, value) in row.values.enumerated() { values[offsets[stream] + index] = value }
    }

    mutating func end(into output: inout OutputBuffer) {
        writePending(into: &output)
        rows.end(into: &output)
    }

    private mutating func writePending(into output: inout OutputBuffer) {
        guard let row = pending else { return }
        rows.write(SampleRow(device: row.device, time: row.time, values: values), into: &output)
        pending = nil
    }
}

/// Writes the samples of several streams as one JSON object per line, each with the name of its stream.
struct MotionNDJSONWriter: RowWriter {
    private var rows: [NDJSONWriter]

    init(streams: [SensorStream], bound: [ExportColumn] = []) {
        rows = streams.map { NDJSONWriter(columns: $0.columns.map(ExportColumn.init) + bound, stream: $0.name) }
    }

    func begin(into output: inout OutputBuffer) {}
    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        rows[stream].write(row, into: &output)
    }
    func end(into output: inout OutputBuffer) {}
}
