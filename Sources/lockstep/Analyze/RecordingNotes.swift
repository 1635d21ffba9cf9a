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

/// The option to refuse faulty recordings.
struct StrictOption: ParsableArguments {
    @Flag(
        help: """
            Refuse a recording with values that are not finite, or times that go backward. Otherwise such samples are left \
            out, and their number is printed.
            """)
    var strict = false
}
