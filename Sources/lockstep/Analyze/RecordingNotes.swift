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

    /// The lines for a text report.
    var lines: String { texts.map { "note: \($0)\n" }.joined() }

    /// Writes the member `notes`, if there are any.
    func add(to object: inout JSONObjectWriter) {
        if !texts.isEmpty { object.member("notes", texts) { $0.string($1) } }
    }
}

/// The options of recordings.
struct RecordingOptions: ParsableArguments {
    @Option(
        name: .customLong("map"),
        help: """
            Column that the header does not name as Lockstep does, as FIELD=STREAM.COLUMN[:UNIT], such as \
            ax=accelerometer.x:m/s2; may be repeated.
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

    /// Returns what the user says about the columns. Those whose stream the header does not say are of the accelerometer.
    func format() throws -> RecordingFormat {
        var format = RecordingFormat()
        format.mappings = try maps.map { try RecordingFormat.Mapping($0, streams: .builtIn) }
        format.timeUnit = timeUnit
        format.preferred = .accelerometer
        return format
    }
}
