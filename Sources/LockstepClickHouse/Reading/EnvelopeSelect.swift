import LockstepModel
import LockstepStore

/// The statements of a query of thinned samples.
struct EnvelopeSelect {
    /// A part of the time range, which one statement reads.
    struct Part: Equatable {
        /// The times in µs since 1970.
        var times: ClosedRange<Int64>
        /// The number of rows. Samples that were inserted more than once have several.
        var rows: Int64
    }

    /// The maximum number of rows of a part that has more than one bucket.
    static let rowsOfPart: Int64 = 1_000_000

    let query: EnvelopeQuery
    let samples: SampleSelect
    private let device: Int64

    init(_ query: EnvelopeQuery, device: Int64) {
        self.query = query
        samples = SampleSelect(stream: query.stream)
        self.device = device
    }

    /// The expression for the number of a sample's bucket. Its alias starts with an underscore, which the names
    /// of columns do not.
    private var bucket: String { "intDiv(t - toInt64(\(query.times.lowerBound)), toInt64(\(query.width)))" }

    /// The statement for the buckets with rows, and the number of rows in each. It does not sort the rows.
    var rowCounts: String {
        """
        SELECT \(bucket) AS _bucket, toInt64(count()) FROM \(query.stream.receivedTable)
        WHERE device_id = \(device) AND t >= \(query.times.lowerBound) AND t < \(query.times.upperBound)
        GROUP BY _bucket ORDER BY _bucket
        """
    }

    /// Returns the statement for the number of samples.
    func count(in times: ClosedRange<Int64>) -> String {
        """
        SELECT toInt64(uniqExact(t)) FROM \(query.stream.receivedTable)
        WHERE device_id = \(device) AND t >= \(times.lowerBound) AND t <= \(times.upperBound)
        """
    }

    /// Returns the statement for every n-th sample.
    /// - Parameter offset: the number of samples before `times`.
    func samples(in times: ClosedRange<Int64>, step: Int64, offset: Int64) -> String {
        let sorted = samples.samples(of: device, times)
        guard step > 1 else { return sorted }
        let columns = (["t"] + query.stream.columns.map(\.name)).joined(separator: ", ")
        return """
            SELECT \(columns) FROM (SELECT rowNumberInAllBlocks() AS _number, \(columns) FROM (\(sorted)))
            WHERE (_number + \(offset)) % \(step) = 0 ORDER BY t
            """
    }

    /// Divides the time range.
    /// - Parameter counts: the number of rows in each bucket that has any, in order of time.
    func parts(_ counts: [(bucket: Int64, rows: Int64)]) -> [Part] {
        var parts: [Part] = []
        for (bucket, rows) in counts {
            let start = query.times.lowerBound + bucket * query.width
            let end = min(start + (query.width - 1), query.times.upperBound - 1)
            if let last = parts.last, last.rows + rows <= Self.rowsOfPart {
                parts[parts.count - 1] = Part(times: last.times.lowerBound...end, rows: last.rows + rows)
            } else {
                parts.append(Part(times: start...end, rows: rows))
            }
        }
        return parts
    }
}
