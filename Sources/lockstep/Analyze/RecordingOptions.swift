import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepSensors
import LockstepWire

/// What a reader of a result should know about its recording.
struct RecordingNotes: Equatable {
    /// The notes, one sentence each.
    private(set) var texts: [String] = []

    /// - Parameter samples: The samples that are analysed.
    init(_ recording: Recording, _ samples: [SampleBlock]) {
        if recording.skipped.count > 0 { texts.append("\(recording.skipped)") }
        for block in samples {
            let repeats = zip(block.times, block.times.dropFirst()).count { $0 == $1 }
            guard repeats > 0 else { continue }
            texts.append(
                counted(repeats, "sample")
                    + " of \(block.stream.table) with the time of the sample before: only the first "
                    + "one of each time is used")
        }
    }

    var lines: String { texts.map { "note: \($0)\n" }.joined() }

    /// Writes the member `notes`, if there are any.
    func add(to object: inout JSONObjectWriter) {
        if !texts.isEmpty { object.member("notes", texts) { $0.string($1) } }
    }
}

struct RecordingOptions: ParsableArguments {
    @Option(
        name: .customLong("map"),
        help: """
            Column that the header does not name as Lockstep does, as FIELD=STREAM.COLUMN[:UNIT], such as \
            ax=accelerometer.x:m/s2, or the time, such as seconds=t_s; may be repeated.
            """)
    var maps: [String] = []

    @Option(help: "Unit of times if the header does not say it: s, ms, us or ns.", transform: parseTimeUnit)
    var timeUnit: TimeUnit?

    @Flag(
        help: """
            Refuse a recording with values that are not finite, or times that go backward. Otherwise such samples are left \
            out, and their number is printed.
            """)
    var strict = false

    /// Returns what the user says about the columns.
    func format() throws -> RecordingFormat {
        var format = RecordingFormat()
        format.mappings = try maps.map { try RecordingFormat.Mapping($0, streams: .builtIn) }
        format.timeUnit = timeUnit
        return format
    }

    /// Reads a recording with an accelerometer, of which the magnitude is enough.
    /// - Returns: the recording and the samples of its accelerometer.
    func open(_ file: String) throws -> (Recording, SampleBlock) {
        let recording = try Recording(file: file, isStrict: strict, format: format())
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty else {
            throw CommandFailure(
                "\(file): no accelerometer\(recording.insteadText); add x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 or "
                    + "magnitude_g")
        }
        return (recording, samples)
    }
}

/// The sign convention of accelerations in g.
enum RecordingSign: String, CaseIterable, ExpressibleByArgument {
    case lockstep
    case specificForce = "specific-force"

    static let help: ArgumentHelp = """
        Sign of accelerations in g: lockstep, if the upward axis reads -1 at rest, or specific-force, if it reads +1, \
        as on Android. Accelerations in m/s² are always specific force.
        """

    /// Reads a recording with a three-axis accelerometer, and converts it to the sign convention of Lockstep.
    /// - Parameters:
    ///   - extras: the headers of additional columns to read.
    ///   - options: how to read it.
    ///   - purpose: the analysis that requires the accelerometer, for error texts.
    /// - Throws: ``ReplayError`` for an invalid file, or ``CommandFailure`` if it has no such accelerometer.
    func open(
        _ file: String, extras: [String] = [], options: RecordingOptions, for purpose: String
    ) throws -> (recording: Recording, accelerometer: SampleBlock) {
        let metricColumns = ["ax_m_s2", "x_m_s2"]
        let recording = try Recording(
            file: file, extras: metricColumns + extras, isStrict: options.strict, format: options.format())
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty,
            !recording.hasOnlyMagnitude
        else {
            throw CommandFailure(
                "\(file): no three-axis accelerometer\(recording.insteadText); \(purpose) requires x_g,y_g,z_g or "
                    + "ax_m_s2,ay_m_s2,az_m_s2")
        }
        guard self == .specificForce else { return (recording, samples) }
        guard !metricColumns.contains(where: { recording.column($0) != nil }) else {
            throw CommandFailure(
                "\(file): --sign applies to accelerations in g, but these are in m/s² and always specific force")
        }
        let negated = samples.columns.map { column in column.map { -$0 } }
        return (recording, SampleBlock(stream: .accelerometer, times: samples.times, columns: negated))
    }
}

extension Recording {
    /// The streams of a recording without an accelerometer, for error texts: `, only motion/gyroscope`.
    var insteadText: String {
        let others = blocks.map(\.stream).filter { $0 != .accelerometer }
        return others.isEmpty ? "" : ", only \(others.map(\.name).joined(separator: ", "))"
    }
}

/// The times of a recording as text: ISO 8601 for wall-clock times, otherwise seconds from the first sample.
struct RecordingTimes {
    /// The time of the first sample, in µs as in the recording.
    let start: Int64

    /// Whether the recording has wall-clock times. Other recordings count from zero or from the boot of the device, which
    /// gives times long before the year 2000.
    private var isWallClock: Bool { start >= 946_684_800_000_000 }

    var title: String { isWallClock ? "START" : "START (s)" }

    func text(_ time: Int64) -> String {
        isWallClock
            ? Timestamp(microseconds: time).shown(decimals: 3) : fixed(Double(time - start) / 1e6, 2)
    }
}
