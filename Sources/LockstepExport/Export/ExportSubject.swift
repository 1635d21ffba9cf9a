public import LockstepModel
public import LockstepStore

/// The samples that an export contains.
public enum ExportSubject: Sendable, Hashable {
    /// The samples of one stream.
    case stream(SensorStream)
    /// The samples of the stream `location` that have a position.
    case track
    /// The samples of the streams `motion/device`, `motion/accelerometer`, `motion/gyroscope` and
    /// `motion/magnetometer`, merged by time.
    case motion
    /// The samples of some streams, with the labels and markers of a session.
    case session(RecordingSession, [SensorStream])

    /// The streams, in the order of the indices of an ``RowWriter``.
    public var streams: [SensorStream] {
        switch self {
        case .stream(let stream): [stream]
        case .track: [.location]
        case .motion: [.deviceMotion, .accelerometer, .gyroscope, .magnetometer]
        case .session(_, let streams): streams
        }
    }

    /// The formats in which the subject can be exported.
    public var formats: [ExportFormat] {
        if session != nil { return [.mcap, .xdf] }
        return ExportFormat.allCases.filter {
            $0 != .xdf && (!$0.needsPositions || hasPositions) && ($0 != .parquet || streams.count == 1)
        }
    }

    private var hasPositions: Bool { streams == [.location] || streams == [RefinedKind.location.stream] }

    /// The session, or nil.
    private var session: RecordingSession? { if case .session(let session, _) = self { session } else { nil } }

    /// Returns whether the export contains a sample.
    public func contains(_ row: SampleRow) -> Bool { self != .track || TrackFix(row) != nil }

    /// Creates a writer.
    /// - Parameters:
    ///   - format: one of ``formats``.
    ///   - gap: the interval between two fixes, in µs, from which on a track has a new segment.
    ///   - creator: the name and version of the program, for formats that contain it.
    ///   - hasBound: whether each row ends with ``CollectorTime/boundColumn``, for formats with columns.
    /// - Precondition: the subject can be exported in this format.
    public func writer(
        format: ExportFormat, gap: Int64, creator: String, hasBound: Bool = false
    ) -> any RowWriter {
        precondition(formats.contains(format), "this subject cannot be exported as \(format)")
        let bound = hasBound ? [CollectorTime.boundColumn] : []
        let columns = streams[0].columns.map(ExportColumn.init) + bound
        switch format {
        case .csv where streams.count > 1: return MotionCSVWriter(streams: streams, bound: bound)
        case .csv: return CSVWriter(columns: columns, stream: streams[0].name)
        case .ndjson where streams.count > 1: return MotionNDJSONWriter(streams: streams, bound: bound)
        case .ndjson: return NDJSONWriter(columns: columns, stream: streams[0].name)
        case .parquet: return ParquetWriter(columns: columns, creator: creator)
        case .geojson: return GeoJSONWriter(gap: gap, columns: TrackColumns(streams[0]))
        case .gpx: return GPXWriter(gap: gap, creator: creator, columns: TrackColumns(streams[0]))
        case .senml: return SenMLWriter(streams: streams, isCBOR: false)
        case .senmlCBOR: return SenMLWriter(streams: streams, isCBOR: true)
        case .mcap: return MCAPWriter(streams: streams, library: creator, session: session)
        case .xdf: return XDFWriter(streams: streams, session: session)
        }
    }
}

/// A file format of exports.
public enum ExportFormat: String, CaseIterable, Sendable {
    /// CSV with a header.
    case csv
    /// One JSON object per line.
    case ndjson
    /// GeoJSON (RFC 7946).
    case geojson
    /// GPX 1.1.
    case gpx
    /// MCAP with messages in JSON.
    case mcap
    /// SenML (RFC 8428) in JSON.
    case senml
    /// SenML (RFC 8428) in CBOR.
    case senmlCBOR = "senml-cbor"
    /// Apache Parquet.
    case parquet
    /// XDF 1.0, for sessions.
    case xdf

    /// Whether the file is not text.
    public var isBinary: Bool { [.mcap, .senmlCBOR, .parquet, .xdf].contains(self) }
    /// Whether the file contains positions only.
    public var needsPositions: Bool { self == .geojson || self == .gpx }
    /// Whether each sample has named columns, so that a column can be added.
    public var hasColumns: Bool { [.csv, .ndjson, .parquet].contains(self) }
    /// Whether the samples of several devices are sorted by time, instead of by device, then time.
    public var mergesDevices: Bool { self == .mcap }
}

extension ExportFormat {
    func represents(_ time: Timestamp) -> Bool {
        (self != .senml && self != .senmlCBOR) || time.microseconds >= SenMLWriter.earliest
    }
}
