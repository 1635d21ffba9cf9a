import LockstepExport
import LockstepHTTP
import LockstepModel
import LockstepStore

/// A checked query of one stream of a device.
struct StreamQuery: Hashable, Sendable {
    /// The kind of the rows.
    enum Kind: Hashable, Sendable {
        case samples
        /// Averages of spans of this length in µs.
        case averages(Int64)
        /// The minimum and maximum values of at most this number of buckets.
        case envelope(Int)
        /// Every n-th sample, so that there are at most this number.
        case thinned(Int)
    }

    /// The format of the answer.
    enum Format: String, CaseIterable, Sendable {
        case json, csv, ndjson, geojson, gpx, mcap

        var contentType: String {
            switch self {
            case .json: "application/json"
            case .csv: "text/csv; charset=utf-8; header=present"
            case .ndjson: "application/x-ndjson"
            case .geojson: "application/geo+json"
            case .gpx: "application/gpx+xml"
            case .mcap: "application/octet-stream"
            }
        }

        /// The format of files, for those that have no form for averages and envelopes.
        var file: ExportFormat? {
            switch self {
            case .json, .csv, .ndjson: nil
            case .geojson, .gpx, .mcap: ExportFormat(rawValue: rawValue)
            }
        }
    }

    /// The names of the parameters.
    static let parameters = ["from", "to", "every", "points", "limit", "format", "time"]

    let device: DeviceAddress
    let stream: SensorStream
    let from: Timestamp
    let to: Timestamp
    let kind: Kind
    let limit: Int?
    let format: Format
    /// Whether times, and the time range, are on the collector's clock. Averages cannot be.
    let isOnCollectorTime: Bool

    /// Reads the parameters.
    /// - Throws: ``Problem`` for an invalid parameter, or a query that exceeds the limits.
    init(
        device: DeviceAddress, stream: SensorStream, _ query: QueryParameters, _ limits: ServeLimits, now: Timestamp
    ) throws(Problem) {
        self.device = device
        self.stream = stream
        from = try query.time("from", now: now) ?? now - 300_000_000
        to = try query.time("to", now: now) ?? now
        guard from <= to else { throw .badRequest("'from' is later than 'to': swap them") }
        let every = try query.duration("every", in: 100_000...31_622_400_000_000, "from 100ms to 366d")
        let points = try query.number("points", in: 1...limits.buckets)
        limit = try query.number("limit", in: 1...100_000_000)
        format =
            try query.value("format") { text in
                guard let format = Format(rawValue: text) else {
                    throw Problem.badRequest(
                        "format: '\(text.prefix(80))' is not one of "
                            + Format.allCases.map(\.rawValue).joined(separator: ", "))
                }
                return format
            } ?? .json
        isOnCollectorTime =
            try query.value("time") { text in
                guard text == "device" || text == "collector" else {
                    throw Problem.badRequest("time: '\(text.prefix(80))' is not one of device, collector")
                }
                return text == "collector"
            } ?? false
        if isOnCollectorTime, every != nil {
            throw .badRequest("'time=collector' is not for averages: leave out 'every'")
        }
        switch (every, points) {
        case (_?, _?): throw .badRequest("'every' and 'points' exclude each other: use one of them")
        case (let every?, nil): kind = .averages(every)
        case (nil, let points?):
            kind = stream.name == SensorStream.location.name ? .thinned(points) : .envelope(points)
        case (nil, nil): kind = .samples
        }
        try check(limits)
        if let file = format.file {
            guard kind == .samples else {
                throw .badRequest("'format=\(format.rawValue)' is for samples: leave out 'every' and 'points'")
            }
            guard ExportSubject.stream(stream).formats.contains(file) else {
                throw .badRequest("'format=\(format.rawValue)' is for the stream location: use another format")
            }
        }
    }

    private func check(_ limits: ServeLimits) throws(Problem) {
        let span = to - from
        switch kind {
        case .samples:
            guard span <= limits.sampleSpan else {
                throw .badRequest(
                    "the time range is longer than \(limits.sampleSpan / 86_400_000_000) days: shorten it, or use "
                        + "'points' or 'every' for a summary")
            }
        case .averages(let every):
            guard span / every <= limits.buckets else {
                throw .badRequest(
                    "the query has more than \(limits.buckets) spans: use a greater 'every' or a shorter range")
            }
            fallthrough
        case .envelope, .thinned:
            guard span <= limits.span else {
                throw .badRequest("the time range is longer than \(limits.span / 86_400_000_000) days: shorten it")
            }
        }
    }

    /// The columns of the stream that the rows contain, in one or two values each.
    var columns: [SensorStream.Column] {
        switch kind {
        case .samples, .thinned: stream.columns
        case .averages: stream.columns.filter { $0.aggregate != .none }
        case .envelope: envelope.columns
        }
    }

    /// The columns of the rows after the time.
    var exportColumns: [ExportColumn] {
        let samples = ExportColumn(name: "samples", kind: .integer)
        let bound = isOnCollectorTime ? [CollectorTime.boundColumn] : []
        switch kind {
        case .samples, .thinned: return columns.map { ExportColumn($0) } + bound
        case .averages: return [samples] + columns.map { ExportColumn(name: $0.name, kind: .real) }
        case .envelope:
            return [samples]
                + columns.flatMap { column in
                    ["min", "max"].map { ExportColumn(name: "\(column.name)_\($0)", kind: column.kind) }
                } + bound
        }
    }

    /// The query of an envelope or of thinned samples.
    var envelope: EnvelopeQuery {
        let points: Int
        switch kind {
        case .envelope(let count), .thinned(let count): points = count
        case .samples, .averages: points = 1
        }
        return EnvelopeQuery(device: device, stream: stream, from: from, to: to, points: points)
    }

    /// Returns the query of an envelope or of thinned samples for a range on the device's time line, which contains the
    /// range on the collector's clock. If it is much longer, the buckets have about the same length.
    func envelopeOfOtherRange(from: Timestamp, to: Timestamp) -> EnvelopeQuery {
        var query = envelope
        let ratio = Double(to - from) / Double(max(1, query.to - query.from))
        // Where a clock was stepped far, the ranges differ much: the memory of the answer stays bounded.
        query.points = Int((Double(query.points) * min(4, max(1, ratio))).rounded())
        (query.from, query.to) = (from, to)
        return query
    }

    /// Returns the members of the JSON document before the rows.
    /// - Parameter width: the length of the buckets of an envelope in µs.
    func members(width: Int64) -> [(name: String, json: String)] {
        let name: String
        var step = "null"
        switch kind {
        case .samples, .thinned: name = "samples"
        case .averages(let every): (name, step) = ("average", "\(every)")
        case .envelope: (name, step) = ("envelope", "\(width)")
        }
        return [
            ("group", JSONRowsWriter.string(device.group.rawValue)),
            ("device", JSONRowsWriter.string(device.device.rawValue)), ("stream", JSONRowsWriter.string(stream.name)),
            ("from", "\(from.microseconds)"), ("to", "\(to.microseconds)"), ("kind", JSONRowsWriter.string(name)),
            ("step", step),
            (
                "columns",
                JSONRowsWriter.strings(
                    columns.map(\.name) + (isOnCollectorTime ? [CollectorTime.boundColumn.name] : []))
            ),
            ("units", JSONRowsWriter.strings(columns.map(\.unit) + (isOnCollectorTime ? ["µs"] : []))),
        ]
    }

    /// Returns a writer of the rows.
    /// - Parameter width: the length of the buckets of an envelope in µs; nil for that of ``envelope``.
    func writer(width: Int64? = nil) -> any RowWriter {
        switch format {
        case .json: JSONRowsWriter(members: members(width: width ?? envelope.width), columns: exportColumns)
        case .csv: CSVWriter(columns: exportColumns, stream: stream.name)
        case .ndjson: NDJSONWriter(columns: exportColumns, stream: stream.name)
        case .geojson, .gpx, .mcap:
            ExportSubject.stream(stream).writer(
                format: format.file ?? .csv, gap: Self.trackGap, creator: "lockstep-serve")
        }
    }

    /// Fixes with at least this interval between them, in µs, are not connected, as in `lockstep export`.
    private static let trackGap: Int64 = 300_000_000
}
