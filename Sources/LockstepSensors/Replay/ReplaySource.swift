public import LockstepModel

/// A source that plays a recording, row by row, from a CSV file with a header.
///
/// `t_us`, `t_ms`, `t_s` or `t_ns` is the time in this unit; `t`, `time` or `timestamp` is a time in ISO 8601 or in the only
/// unit in which it is a date from 2000 to 2100. The other headers define the streams:
///
/// | headers | stream |
/// |---|---|
/// | `x_g,y_g,z_g` or `ax_g,…` | accelerometer, unchanged |
/// | `ax_m_s2,ay_m_s2,az_m_s2` or `x_m_s2,…` | accelerometer: specific force (+9.8 m/s² up at rest), converted to g |
/// | `magnitude_g` | accelerometer with a known magnitude only, assigned to the z axis |
/// | `gx_rad_s,gy_rad_s,gz_rad_s` | gyroscope |
/// | `mx_uT,my_uT,mz_uT` | magnetometer |
/// | `lat,lon` and any of `alt,hacc,vacc,speed,course,fix,at` | location |
/// | `pressure_hPa` | pressure |
/// | `accelerometer_x`, `steps_steps` and the like | the columns of any stream, as in an export of several |
/// | the columns of one stream alone | that stream, as in an export of one; `x,y,z` may be several |
/// | the columns of a declared stream, as `ppm` or `x/co2.ppm` | that stream; see `DeclaredForm` |
///
/// Other columns are ignored. If all fields of a stream are empty in a row, the row has no sample of the stream. An
/// empty field of a location is null. LF, CR LF, a byte order mark and blank lines at the end are accepted;
/// so are semicolons or tabs between fields, then also with decimal commas. A ``RecordingFormat`` says what the header does not.
///
/// A sample with a value that is not finite, and a row whose time does not fit to the rows around it, are left out and
/// counted in the status, unless the source is strict.
public struct ReplaySource: SensorSource {
    /// The path of the file as given.
    public let file: String
    /// The playback speed.
    public let speed: ReplaySpeed
    /// The clock of the samples' timestamps.
    public let stamping: Stamping
    /// How long rows are collected before they are delivered, in µs. It is the shortest pause between deliveries.
    public let linger: Int64
    /// The streams in the recording.
    public let streams: [SensorStream]
    /// Whether invalid values and times that go backward end the replay with an error.
    public let isStrict: Bool
    /// The streams that the recording can contain.
    private let catalog: StreamCatalog
    private let format: RecordingFormat

    /// The maximum number of rows that are delivered together.
    private static let blockRows = 500

    /// Opens the recording to determine its streams.
    /// - Throws: ``ReplayError`` if the file cannot be read, is empty, or has no stream in its header or no rows.
    public init(
        file: String, speed: ReplaySpeed = .realTime, stamping: Stamping = .now,
        linger: Int64 = SourceOptions.defaultLinger, streams catalog: StreamCatalog = .builtIn,
        isStrict: Bool = false, format: RecordingFormat = RecordingFormat()
    ) throws(ReplayError) {
        let reader = try RecordingReader.open(file, streams: catalog, format: format)
        self.format = format
        self.file = file
        self.isStrict = isStrict
        self.catalog = catalog
        self.speed = speed
        self.stamping = stamping
        self.linger = linger
        streams = reader.layout.parts.map(\.stream)
    }

    /// The name of the source, `replay:FILE`.
    public var name: String { "replay:\(file)" }

    /// Plays the recording once; reports ``SourceStatus/ended`` at its end.
    /// - Throws: ``ReplayError`` at the first malformed row, after delivering the rows before it.
    public func run(into sink: any SampleSink) async throws {
        var reader = try RecordingReader.open(file, streams: catalog, isStrict: isStrict, format: format)
        var reported = 0
        var pending = PendingRows(layout: reader.layout, clock: stamping == .own ? .own : .boot)
        var timing: ReplayTiming?
        sink.report(.running, from: name)
        while let row = try await Self.next(of: &reader, orDeliver: &pending, to: sink) {
            // Report the count when it has doubled: there may be one in each row.
            if reader.skipped.count >= max(1, 2 * reported) {
                reported = reader.skipped.count
                sink.report(.degraded("\(reader.skipped)"), from: name)
            }
            var schedule =
                timing
                ?? ReplayTiming(
                    speed: speed, stamping: stamping, began: Moment.now().boot, first: row.time, last: reader.lastTime)
            if let pause = schedule.pause(before: row.time, at: Moment.now().boot, linger: linger) {
                await pending.deliver(to: sink)
                try? await Task.sleep(for: .microseconds(pause))
            }
            if Task.isCancelled { return }
            pending.append(row, stamp: schedule.stamp(row.time))
            if pending.rows >= Self.blockRows { await pending.deliver(to: sink) }
            timing = schedule
        }
        await pending.deliver(to: sink)
        if reader.skipped.count > reported { sink.report(.degraded("\(reader.skipped)"), from: name) }
        sink.report(.ended, from: name)
    }

    /// Returns the next row. If it is malformed, delivers the pending rows before throwing.
    private static func next(
        of reader: inout RecordingReader, orDeliver pending: inout PendingRows, to sink: any SampleSink
    ) async throws -> RecordingRow? {
        do {
            return try reader.next()
        } catch {
            await pending.deliver(to: sink)
            throw error
        }
    }
}

/// Rows that have been read but not delivered yet.
private struct PendingRows {
    let clock: SampleClock
    private(set) var rows = 0
    private var blocks: [SampleBlock]

    init(layout: RecordingLayout, clock: SampleClock) {
        self.clock = clock
        blocks = layout.parts.map { SampleBlock(stream: $0.stream) }
    }

    mutating func append(_ row: RecordingRow, stamp: Int64) {
        for (index, values) in row.values.enumerated() {
            guard let values else { continue }
            blocks[index].append(time: Timestamp(microseconds: stamp), values: values)
        }
        rows += 1
    }

    mutating func deliver(to sink: any SampleSink) async {
        for index in blocks.indices where !blocks[index].isEmpty {
            let block = blocks[index]
            blocks[index] = SampleBlock(stream: block.stream)
            await sink.accept(block, clock: clock)
        }
        rows = 0
    }
}
