import LockstepModel
import LockstepStore

/// The statements of a query of one stream, and the decoder of their rows.
struct SampleSelect {
    let stream: SensorStream
    let detail: QueryDetail

    /// The length of the time spans of the rows, in µs; 1 for samples.
    var span: Int64 { if case .averages(let span) = detail { span } else { 1 } }

    /// Returns the statement for the times of the first and last sample of a device, and the number of rows.
    func range(of device: Int64, _ times: Range<Int64>) -> String {
        "SELECT min(t), max(t), count() FROM \(stream.receivedTable) WHERE device_id = \(device) "
            + "AND t >= \(times.lowerBound) AND t < \(times.upperBound)"
    }

    /// Returns the time from which to read so that a row at `time` is complete: the start of its span.
    func start(of time: Int64) -> Int64 {
        let rest = time % span
        return time - (rest < 0 ? rest + span : rest)
    }

    /// Returns the statement for the rows of a device in a range of times.
    /// - Parameter limit: the maximum number of rows.
    func statement(of device: Int64, _ times: ClosedRange<Int64>, limit: Int) -> String {
        guard case .averages(let span) = detail else { return samples(of: device, times) + " LIMIT \(limit)" }
        // Unlike this alias, the names of columns do not start with an underscore.
        let values = stream.columns.compactMap(\.aggregateSQL) + ["toInt64(count())"]
        return """
            SELECT t - ((t % toInt64(\(span)) + \(span)) % toInt64(\(span))) AS _span_start, \(values.joined(separator: ", "))
            FROM (\(samples(of: device, times))) GROUP BY _span_start ORDER BY _span_start
            LIMIT \(limit)
            """
    }

    /// Returns the statement for the samples of a device in a range of times, each once.
    func samples(of device: Int64, _ times: ClosedRange<Int64>) -> String {
        """
        SELECT t, \(stream.columns.map(\.name).joined(separator: ", ")) FROM \(stream.receivedTable)
        WHERE device_id = \(device) AND t >= \(times.lowerBound) AND t <= \(times.upperBound)
        ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t
        """
    }

    /// Returns the number of samples that a row stands for.
    func samples(in values: [Double]) -> Int {
        guard case .averages = detail else { return 1 }
        return Int(values.last ?? 1)
    }

    /// Reads a row. NaN stands for null.
    func row(from reader: inout RowBinaryReader) throws(RowBinaryReader.Truncated) -> (time: Int64, values: [Double]) {
        let time = try reader.integer()
        var values: [Double] = []
        switch detail {
        case .samples, .last:
            for column in stream.columns { values.append(try value(of: column, from: &reader)) }
        case .averages:
            for _ in stream.aggregateColumns.dropLast() {
                values.append(try reader.isNull() ? .nan : try reader.double())
            }
            values.append(Double(try reader.integer()))
        }
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

extension SensorStream.Column {
    /// The SQL expression of the column's aggregate with the type Nullable(Float64), or nil if it has none.
    fileprivate var aggregateSQL: String? {
        switch aggregate {
        case .mean: Self.nullable("avg(\(name))")
        case .meanLongitude: Self.nullable(Self.meanLongitudeSQL(name))
        case .sum: Self.nullable("sum(\(name))")
        case .none: nil
        }
    }

    private static func nullable(_ expression: String) -> String { "CAST(\(expression) AS Nullable(Float64))" }

    /// Returns the SQL expression of the mean longitude. If the values lie on both sides of the 180th meridian, 360° is
    /// added to negative values before averaging.
    private static func meanLongitudeSQL(_ name: String) -> String {
        let shifted = "avg(if(\(name) < 0, \(name) + 360, \(name)))"
        return
            "multiIf(max(\(name)) - min(\(name)) <= 180, avg(\(name)), \(shifted) > 180, \(shifted) - 360, \(shifted))"
    }
}
