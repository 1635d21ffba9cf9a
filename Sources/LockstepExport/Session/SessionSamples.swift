public import LockstepModel
public import LockstepStore

/// What files of a session contain: the samples of all of its devices between its start and its end, on the collector's clock.
public struct SessionSamples: Sendable {
    /// The session.
    public let session: RecordingSession
    /// The streams with samples.
    public let streams: [SensorStream]
    private let start, end: Timestamp
    private let time: CollectorTime

    /// The reason why a session has nothing to export.
    public struct Nothing: Error, CustomStringConvertible {
        public let description: String
    }

    /// Looks up which streams have samples.
    /// - Parameter now: the end of a session that has none.
    /// - Throws: ``Nothing``; ``StoreError`` if the store cannot be read.
    public init(_ session: RecordingSession, in reader: StoreReader, now: Timestamp) throws {
        guard let start = session.start, case let end = session.end ?? now, start < end else {
            throw Nothing(
                description: session.end == nil
                    ? "the session '\(session.key.id)' has not begun to record yet"
                    : "the session '\(session.key.id)' has no length: it was stopped before its start")
        }
        (self.session, self.start, self.end) = (session, start, end)
        let time = try CollectorTime(of: session.addresses, from: start, to: end, in: reader)
        self.time = time
        streams = try reader.catalog().streams.filter { stream in
            try session.addresses.contains { device in
                let range = time.deviceRange(of: device)
                return try !reader.timeRanges(of: stream, devices: [device], from: range.from, to: range.to).isEmpty
            }
        }
        guard !streams.isEmpty else {
            throw Nothing(description: "no samples of the session '\(session.key.id)' are stored")
        }
    }

    /// All of the session, for a file.
    public var subject: ExportSubject { .session(session, streams) }

    /// Returns the export of all of the session, or of one of its streams.
    public func export(_ subject: ExportSubject, _ format: ExportFormat) -> SampleExport {
        SampleExport(subject, format: format, from: start, to: end, collectorTime: time)
    }
}
