import LockstepModel
import LockstepStore

/// The statements for summaries of time spans of a device, and the decoder of their rows.
struct SummarySelect {
    /// The summary of a part of a span, or of the whole one.
    struct Row: Equatable {
        /// The start of the span.
        var start: Int64
        var samples: Int64
        var values: [Double]
        /// The number of the samples that were read as summaries of minutes.
        var summarised: Int64 = 0
    }

    let stream: SensorStream
    let device: Int64
    let columns: [SummaryColumn]
    let spans: SummarySpans

    /// Returns the statement for the samples in some ranges of times, each counted once.
    func samples(in ranges: [Range<Int64>]) -> String {
        let values = ["toInt64(count())"] + columns.map(\.expression)
        let names = (["t"] + stream.columns.map(\.name)).joined(separator: ", ")
        let (origin, width) = (spans.origin, spans.width)
        // Unlike this alias, the names of columns do not start with an underscore.
        return """
            SELECT t - (((t - toInt64(\(origin))) % toInt64(\(width)) + toInt64(\(width))) % toInt64(\(width))) AS _span_start,
                \(values.joined(separator: ", "))
            FROM (SELECT \(names) FROM \(stream.receivedTable) WHERE \(condition(ranges))
            ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t) GROUP BY _span_start ORDER BY _span_start
            """
    }

    /// Returns the statement for the valid summaries of minutes that start in a range of times.
    func minutes(in times: Range<Int64>) -> String {
        let values = columns.indices.map { "latest.\($0 + 3)" }
        return """
            SELECT \((["t", "latest.2"] + values).joined(separator: ", "))
            FROM (\(stream.summaries(columns, by: "t", where: condition([times]))))
            WHERE latest.1 = changes AND latest.2 > 0 ORDER BY t
            """
    }

    /// The length in µs of the parts whose rows are counted in a long range.
    static let countedPart: Int64 = 600_000_000
    /// The maximum number of rows that one statement sorts, if a part does not have more.
    private static let rowsOfPart: Int64 = 1_000_000

    /// Divides ranges, which are in order, into groups of at most ``rowsOfPart`` rows, if no part of a length has more.
    /// - Parameter counted: the ranges in which rows are counted: these, or fewer ones that contain them.
    func groups(
        _ ranges: [Range<Int64>], counted: [Range<Int64>]? = nil, length: Int64 = countedPart,
        _ client: ClickHouseClient
    ) throws(StoreError) -> [[Range<Int64>]] {
        let counts = try client.binary(rowCounts(in: counted ?? ranges, length: length)) { reader in
            (part: try reader.integer(), rows: try reader.integer())
        }
        return SummaryPlan.groups(ranges, counts, length: length, maxRows: Self.rowsOfPart)
    }

    /// Returns the statement for the number of rows in each part of a length that has any. It sorts no rows.
    private func rowCounts(in ranges: [Range<Int64>], length: Int64) -> String {
        """
        SELECT intDiv(t, toInt64(\(length))) - if(t % toInt64(\(length)) < 0, 1, 0) AS _part, toInt64(count())
        FROM \(stream.receivedTable) WHERE \(condition(ranges)) GROUP BY _part ORDER BY _part
        """
    }

    /// Returns the condition for rows of the device in some ranges of times.
    func condition(_ ranges: [Range<Int64>]) -> String {
        "device_id = \(device) AND ("
            + ranges.map { "(t >= \($0.lowerBound) AND t < \($0.upperBound))" }.joined(separator: " OR ") + ")"
    }

    /// Reads a row of ``samples(in:)`` or ``minutes(in:)``.
    func row(_ reader: inout RowBinaryReader) throws(RowBinaryReader.Truncated) -> Row {
        var row = Row(start: try reader.integer(), samples: try reader.integer(), values: [])
        row.values.reserveCapacity(columns.count)
        for _ in columns { row.values.append(try reader.isNull() ? .nan : try reader.double()) }
        return row
    }
}

/// Combines summaries of parts of spans.
struct SpanSummaries {
    private let select: SummarySelect
    private var spans: [Int64: SummarySelect.Row] = [:]

    init(_ select: SummarySelect) { self.select = select }

    /// Adds the summary of a part of the span that contains its start.
    mutating func add(_ row: SummarySelect.Row) {
        let start = select.spans.start(of: row.start)
        guard var span = spans.removeValue(forKey: start) else {
            spans[start] = .init(
                start: start, samples: row.samples, values: row.values, summarised: row.summarised)
            return
        }
        span.samples += row.samples
        span.summarised += row.summarised
        for (index, column) in select.columns.enumerated() {
            span.values[index] = column.combined(span.values[index], row.values[index])
        }
        spans[start] = span
    }

    /// Removes and returns the spans that end at `time` or before, in order; all if it is nil.
    mutating func take(through time: Int64? = nil) -> [SummarySelect.Row] {
        let ended = time.map { time in
            spans.keys.filter { start in
                let (end, overflows) = start.addingReportingOverflow(select.spans.width)
                return !overflows && end <= time
            }
        }
        return (ended ?? Array(spans.keys)).sorted().compactMap { spans.removeValue(forKey: $0) }
    }
}
