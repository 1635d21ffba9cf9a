import LockstepExport
import LockstepModel
import LockstepStore

/// Reads the rows of a query in pages, so that a slow client keeps neither a thread nor a snapshot of the store.
struct RowPages: Sendable {
    /// A part of the answer.
    struct Page: Sendable {
        /// The rows in the format of the query.
        var bytes: [UInt8] = []
        /// The number of rows.
        var rows = 0
        /// The start of the next page, or nil after the last one.
        var next: Timestamp?
    }

    /// The maximum number of rows of a page.
    static let pageRows = 10_000

    let query: StreamQuery

    /// Reads the rows from a time on.
    /// - Parameters:
    ///   - start: the time of the first possible row.
    ///   - limit: the maximum number of rows.
    ///   - writer: writes the rows. It must be that of the previous pages.
    ///   - clock: the conversion to the collector's time line, which the first page reads if the query needs it. Then
    ///     `start` and the next page's start are on the device's time line, except for that of the first page.
    func page(
        from start: Timestamp, limit: Int, writer: inout any RowWriter, clock: inout CollectorTime?,
        _ reader: any StoreReading, _ cancellation: QueryCancellation
    ) throws -> Page {
        var start = start
        if query.isOnCollectorTime, clock == nil {
            let time = try CollectorTime(of: [query.device], from: query.from, to: query.to, in: reader)
            start = time.deviceRange(of: query.device).from ?? start
            clock = time
        }
        var page = Page()
        var output = OutputBuffer()
        func write(_ time: Timestamp, _ values: [Double]) {
            var row = SampleRow(device: query.device, time: time, values: values)
            if clock != nil {
                guard let converted = clock?.convert(row, columns: query.columns) else { return }
                row = converted
            }
            writer.write(row, into: &output)
            page.rows += 1
        }
        switch query.kind {
        case .samples, .averages:
            var detail = QueryDetail.samples
            var step: Int64 = 1
            if case .averages(let every) = query.kind { (detail, step) = (.averages(span: every), every) }
            var last: Timestamp?
            let hasMore = try reader.run(
                SampleQuery(
                    device: query.device, stream: query.stream, detail: detail, from: start,
                    to: clock.map { $0.deviceRange(of: query.device).to } ?? query.to,
                    limit: min(limit, Self.pageRows)), cancellation: cancellation
            ) { time, values in
                // Averages end with the number of samples, which comes first here.
                write(time, step == 1 ? values : values.suffix(1) + values.dropLast())
                last = time
            }
            if hasMore, let last { page.next = last + step }
        case .envelope:
            let buckets = try reader.envelope(query.envelope, cancellation: cancellation).buckets
            for bucket in buckets.prefix(limit) { write(bucket.start, [Double(bucket.samples)] + bucket.values) }
            page.next = buckets.dropFirst(limit).first?.start
        case .thinned:
            let samples = try reader.everyNth(query.envelope, cancellation: cancellation).samples
            for sample in samples.prefix(limit) { write(sample.time, sample.values) }
            page.next = samples.dropFirst(limit).first?.time
        }
        page.bytes = output.bytes
        return page
    }
}
