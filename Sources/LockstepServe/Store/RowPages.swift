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
        /// The number of samples that averages or buckets stand for, and that of those which were read as summaries.
        var samples: Int64 = 0
        var summarised: Int64 = 0
        /// The start of the next page, or nil after the last one.
        var next: Timestamp?
    }

    let query: StreamQuery
    /// The maximum number of rows of a page.
    var pageRows = AnswerMemory.largePageRows

    /// Reads the rows from a time on.
    /// - Parameters:
    ///   - start: the time of the first possible row.
    ///   - limit: the maximum number of rows.
    ///   - writer: writes the rows. It must be that of the previous pages.
    ///   - clock: the conversion to the collector's time line, which the first page reads if the query needs it. Then
    ///     `start` and the next page's start are on the device's time line, except for that of the first page.
    func page(
        from start: Timestamp, limit: Int, writer: inout any RowWriter, clock: inout CollectorTime?,
        _ reader: StoreReader, _ cancellation: QueryCancellation
    ) throws -> Page {
        var start = start
        if query.isOnCollectorTime, clock == nil {
            let time = try CollectorTime(of: [query.device], from: query.from, to: query.to, in: reader)
            start = time.deviceRange(of: query.device).from ?? start
            clock = time
        }
        var page = Page()
        let before = reader.summarisedSamples
        var output = OutputBuffer()
        func write(
            _ time: Timestamp, _ values: [Double], columns: [SensorStream.Column]? = nil, first: [Double] = [],
            length: Int64 = 1
        ) {
            guard page.rows < limit else {
                let isInRange = clock.map { $0.time(time, of: query.device) < query.to } ?? true
                if isInRange, page.next == nil { page.next = time }
                return
            }
            var row = SampleRow(device: query.device, time: time, values: values)
            if clock != nil {
                guard
                    let converted = clock?.convert(
                        row, columns: columns ?? query.columns, appendsBound: query.format.file == nil, length: length)
                else { return }
                row = converted
            }
            if !first.isEmpty { row = SampleRow(device: row.device, time: row.time, values: first + row.values) }
            writer.write(row, stream: 0, into: &output)
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
                    // On the collector's clock, the first rows may be outside the range.
                    limit: clock == nil ? min(limit, pageRows) : pageRows), cancellation: cancellation
            ) { time, values in
                if step > 1, page.rows < limit {
                    page.samples += Int64(values.last ?? 0)
                    page.summarised = reader.summarisedSamples - before
                }
                // Averages end with the number of samples, which comes first here.
                write(time, step == 1 ? values : values.suffix(1) + values.dropLast())
                last = time
            }
            if page.next == nil, hasMore, let last { page.next = last + step }
        case .envelope:
            let envelope = deviceEnvelope(clock)
            if clock != nil { writer = query.writer(width: envelope.width) }
            // Each column has two values.
            let columns = envelope.columns.flatMap { [$0, $0] }
            for bucket in try reader.envelope(envelope, cancellation: cancellation).buckets {
                page.samples += bucket.samples
                write(
                    bucket.start, Array(bucket.values), columns: columns, first: [Double(bucket.samples)],
                    length: envelope.width)
            }
            page.summarised = reader.summarisedSamples - before
        case .thinned:
            for sample in try reader.everyNth(deviceEnvelope(clock), cancellation: cancellation) {
                write(sample.time, sample.values)
            }
        }
        page.bytes = output.bytes
        return page
    }

    /// Returns the query of an envelope or of thinned samples on the device's time line.
    private func deviceEnvelope(_ clock: CollectorTime?) -> EnvelopeQuery {
        guard let clock else { return query.envelope }
        // Exactly the rows of the range, because a bucket cannot be divided afterwards.
        if let range = clock.exactDeviceRange(of: query.device) {
            return query.envelopeOfOtherRange(from: range.lowerBound, to: range.upperBound)
        }
        let range = clock.deviceRange(of: query.device)
        return query.envelopeOfOtherRange(from: range.from ?? query.from, to: range.to ?? query.to)
    }
}
