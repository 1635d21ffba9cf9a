public import LockstepModel

/// A recording, read row by row from a CSV file with a header.
///
/// `t_us` is the time in µs; the other headers say what a row holds:
///
/// | headers | stream |
/// |---|---|
/// | `x_g,y_g,z_g` or `ax_g,…` | accelerometer, as it stands |
/// | `ax_m_s2,ay_m_s2,az_m_s2` or `x_m_s2,…` | accelerometer: specific force in m/s², +9.8 up at rest, turned to our -1 g |
/// | `magnitude_g` | accelerometer of which only the magnitude is known, put on the z axis |
/// | `gx_rad_s,gy_rad_s,gz_rad_s` | gyroscope |
/// | `mx_uT,my_uT,mz_uT` | magnetometer |
/// | `lat,lon` and any of `alt,hacc,vacc,speed,course,fix,at` | location |
/// | the columns of a declared stream, as `ppm` or `x/co2.ppm` | that stream; see ``DeclaredForm`` |
///
/// Other columns are passed over. A stream whose fields are all empty in a row has no sample there; an empty field of
/// a location is null. LF, CR LF, a byte order mark and blank lines at the end are accepted.
public struct ReplaySource: SensorSource {
    /// The file as it was named.
    public let file: String
    public let speed: ReplaySpeed
    public let stamping: Stamping
    /// How long rows gather before they are handed over, in µs: the shortest pause while waiting for what is due.
    public let gathering: Int64
    public let streams: [SensorStream]
    /// The streams that the recording can contain.
    private let catalog: StreamCatalog

    /// Rows are handed over when there are so many, or when the next is not yet due.
    private static let blockRows = 500

    /// Opens the recording to see what it holds.
    /// - Throws: ``ReplayError`` if the file can't be read, is empty, has no header that names a stream, or no rows.
    public init(
        file: String, speed: ReplaySpeed = .realTime, stamping: Stamping = .now,
        gathering: Int64 = SourceOptions.usualGathering, streams catalog: StreamCatalog = .builtIn
    ) throws(ReplayError) {
        let reader = try RecordingReader.open(file, streams: catalog)
        self.file = file
        self.catalog = catalog
        self.speed = speed
        self.stamping = stamping
        self.gathering = gathering
        streams = reader.layout.parts.map(\.stream)
    }

    /// `replay:FILE`.
    public var name: String { "replay:\(file)" }

    /// Plays the recording once and returns; reports ``SourceStatus/ended`` if it came to the end.
    /// - Throws: ``ReplayError`` at the first row that is wrong; the rows before it have been handed over.
    public func run(into sink: any SampleSink) async throws {
        var reader = try RecordingReader.open(file, streams: catalog)
        var pending = PendingRows(layout: reader.layout, clock: stamping == .own ? .own : .boot)
        var timing: ReplayTiming?
        sink.report(.running, from: name)
        while let row = try await Self.next(of: &reader, orHandOver: &pending, to: sink) {
            var schedule =
                timing
                ?? ReplayTiming(
                    speed: speed, stamping: stamping, began: Moment.now().boot, first: row.time, last: reader.lastTime)
            if let pause = schedule.pause(before: row.time, at: Moment.now().boot, gathering: gathering) {
                await pending.handOver(to: sink)
                try? await Task.sleep(for: .microseconds(pause))
            }
            if Task.isCancelled { return }
            pending.append(row, stamp: schedule.stamp(row.time))
            if pending.rows >= Self.blockRows { await pending.handOver(to: sink) }
            timing = schedule
        }
        await pending.handOver(to: sink)
        sink.report(.ended, from: name)
    }

    /// The next row; where it is wrong, what was read before it is handed over first.
    private static func next(
        of reader: inout RecordingReader, orHandOver pending: inout PendingRows, to sink: any SampleSink
    ) async throws -> RecordingRow? {
        do {
            return try reader.next()
        } catch {
            await pending.handOver(to: sink)
            throw error
        }
    }
}

/// Rows that were read and not yet handed over.
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

    mutating func handOver(to sink: any SampleSink) async {
        for index in blocks.indices where !blocks[index].isEmpty {
            let block = blocks[index]
            blocks[index] = SampleBlock(stream: block.stream)
            await sink.accept(block, clock: clock)
        }
        rows = 0
    }
}
