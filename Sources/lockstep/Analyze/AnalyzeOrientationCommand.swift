import ArgumentParser
import LockstepCommandLine
import LockstepModel

struct AnalyzeOrientationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orientation", abstract: "List the device orientations with their times.",
        usage: "lockstep analyze orientation <file> [<options>]",
        discussion: """
            Orientations: portrait, portraitUpsideDown, landscapeLeft (top edge to the left), landscapeRight, faceUp, \
            faceDown. The inclination is the mean angle between the normal of the screen and the vertical: 0° lying on \
            its back, 90° upright, 180° lying on its face.

            EXAMPLES
              lockstep analyze orientation held.csv
              lockstep analyze orientation android.csv --sign specific-force --json
            """)

    @Argument(help: "Recording: a CSV file with a three-axis accelerometer.")
    var file: String

    @Option(help: RecordingSign.help)
    var sign = RecordingSign.lockstep

    @OptionGroup var recordings: RecordingOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let (recording, samples) = try sign.open(file, options: recordings, for: "orientation")
        let report = OrientationReport(
            samples: samples, intervals: OrientationInterval.all(in: samples),
            notes: RecordingNotes(recording, [samples]))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}
