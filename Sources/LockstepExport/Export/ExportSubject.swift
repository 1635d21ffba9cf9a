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

    /// The streams, in the order of the indices of an ``ExportWriter``.
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
            $0 != .xdf && (!$0.needsPositions || streams == [.location]) && ($0 != .parquet || streams.count == 1)
        }
    }

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
    ) -> any ExportWriter {
        precondition(formats.contains(format), "this subject cannot be exported as \(format)")
        let bound = hasBound ? [CollectorTime.boundColumn] : []
        let columns = streams[0].columns.map(ExportColumn.init) + bound
        switch format {
        case .csv where streams.count > 1: return MotionCSVWriter(streams: streams, bound: bound)
        case .csv: return RowExport(rows: CSVWriter(columns: columns))
        case .ndjson where streams.count > 1: return MotionNDJSONWriter(streams: streams, bound: bound)
        case .ndjson: return RowExport(rows: NDJSONWriter(columns: columns))
        case .parquet: return RowExport(rows: ParquetWriter(columns: columns, creator: creator))
        case .geojson: return GeoJSONWriter(gap: gap)
        case .gpx: return GPXWriter(gap: gap, creator: creator)
        case .senml: return SenMLWriter(streams: streams, isCBOR: false)
        case .senmlCBOR: return SenMLWriter(streams: streams, isCBOR: true)
        case .mcap: return MCAPWriter(streams: streams, library: creator, session: session)
        case .xdf: return XDFWriter(streams: streams, session: session)
        }
    }
}
