public import LockstepModel

/// A source that plays a recording, row by row, from a CSV file with a header, from NDJSON, GPX or MCAP.
///
/// NDJSON has an object for each row, MCAP one for each message, and GPX the stream `location`, from the points of its
/// tracks. In CSV,
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
/// | `stream`, and the columns of that stream | that stream, as in an export of one |
/// | `lab/arm/accelerometer_x` and the like | the columns of any stream of one device, as in a resampled export |
/// | the columns of one stream alone | that stream; `x,y,z` may be several |
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

/// The playback speed of a recording.
public enum ReplaySpeed: Sendable, Hashable {
    /// A factor relative to the recorded speed, above 0.
    case times(Double)
    /// As fast as the consumer accepts samples.
    case maximum

    /// The recorded speed.
    public static let realTime = ReplaySpeed.times(1)

    /// Parses `max` or a number above 0; nil if the text has another form.
    public init?(_ text: String) {
        if text == "max" {
            self = .maximum
        } else if let factor = Double(text), factor > 0, factor.isFinite {
            self = .times(factor)
        } else {
            return nil
        }
    }
}

/// The clock for the timestamps of a source that has its own clock.
public enum Stamping: String, Sendable, Hashable, CaseIterable {
    /// This machine's clock: a fix gets its arrival time, and a recording is shifted to the present with unchanged
    /// intervals.
    case now
    /// The source's own clock: its timestamps are unchanged.
    case own
}

/// Computes the delivery times and the timestamps of a recording's rows. All times are in µs.
package struct ReplayTiming: Sendable {
    package let speed: ReplaySpeed
    /// The clock of the timestamps.
    package let stamping: Stamping
    /// The start of the replay on the boot clock.
    package let began: Int64
    /// The time of the first row in the file.
    package let first: Int64
    /// The time of the last row in the file.
    package let last: Int64

    private var lastStamp = Int64.min

    package init(speed: ReplaySpeed, stamping: Stamping, began: Int64, first: Int64, last: Int64) {
        self.speed = speed
        self.stamping = stamping
        self.began = began
        self.first = first
        self.last = last
    }

    /// Returns the delivery time of the row with `time` on the boot clock; nil if it is delivered at once.
    package func deadline(_ time: Int64) -> Int64? {
        guard case .times(let factor) = speed else { return nil }
        return began + Self.whole(Double(time - first) / factor)
    }

    /// Returns how long to wait before the row with `time` is delivered; nil if it is due.
    /// - Parameters:
    ///   - boot: The current time on the boot clock.
    ///   - linger: The shortest wait, so that rows are delivered together.
    package func pause(before time: Int64, at boot: Int64, linger: Int64) -> Int64? {
        guard let deadline = deadline(time), deadline > boot else { return nil }
        return max(deadline - boot, linger)
    }

    /// Returns the timestamp of the row with `time`. Rows with equal times are 1 µs apart.
    package mutating func stamp(_ time: Int64) -> Int64 {
        let stamp = stamping == .own ? time : anchor + (time - first)
        lastStamp = lastStamp == .min ? stamp : max(stamp, lastStamp + 1)
        return lastStamp
    }

    /// The timestamp of the first row of a recording that is shifted to the present. A recording that is played faster
    /// than recorded starts in the past, so that no row lies in the future.
    private var anchor: Int64 {
        let duration = max(0, last - first)
        let playing =
            switch speed {
            case .times(let factor): Self.whole(Double(duration) / factor)
            case .maximum: Int64(0)
            }
        return began + min(0, playing - duration)
    }

    /// Rounds down and limits the value, so that a tiny speed such as 1e-300 waits long instead of overflowing.
    private static func whole(_ microseconds: Double) -> Int64 {
        Int64(min(max(microseconds, -9e15), 9e15).rounded(.down))
    }
}
