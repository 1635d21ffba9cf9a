import LockstepModel
import LockstepStore

/// The statements of a query of one stream, and the decoder of their rows.
struct SampleSelect {
    let stream: SensorStream

    /// Returns the statement for the samples of a device in a range of times, each once.
    func samples(of device: Int64, _ times: ClosedRange<Int64>) -> String {
        """
        SELECT t, \(stream.columns.map(\.name).joined(separator: ", ")) FROM \(stream.receivedTable)
        WHERE device_id = \(device) AND t >= \(times.lowerBound) AND t <= \(times.upperBound)
        ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t
        """
    }

    /// Reads a row. NaN stands for null.
    func row(from reader: inout RowBinaryReader) throws(RowBinaryReader.Truncated) -> (time: Int64, values: [Double]) {
        let time = try reader.integer()
        var values: [Double] = []
        for column in stream.columns { values.append(try value(of: column, from: &reader)) }
        return (time, values)
    }

    private func value(
        of column: SensorStream.Column, from reader: inout RowBinaryReader
    ) throws(RowBinaryReader.Truncated) -> Double {
        if try reader.isNull() { return .nan }
        switch column.kind {
        case .real: return try reader.double()
        case .integer: return Double(try reader.integer())
        case .choice(let words):
            let word = try reader.text()
            return words.firstIndex(of: word).map(Double.init) ?? .nan
        }
    }
}
