import ArgumentParser
import LockstepCommandLine
import LockstepModel

struct AnalyzeOrientationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orientation", abstract: "How a device was held, from when to when.",
        discussion: """
            Orientations: portrait, portraitUpsideDown, landscapeLeft (the top points left), landscapeRight, faceUp, \
            faceDown. The inclination is the mean angle between the screen's normal and the vertical: 0° flat on the \
            back, 90° upright, 180° on the face.

            EXAMPLES
              lockstep analyze orientation held.csv
              lockstep analyze orientation android.csv --sign specific-force --json
            """)

    @Argument(help: "The recording: a CSV file with an accelerometer of three axes.")
    var file: String

    @Option(help: RecordingSign.help)
    var sign = RecordingSign.lockstep

    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        let samples = try sign.open(file, for: "orientation").accelerometer
        let report = OrientationReport(samples: samples, intervals: OrientationInterval.all(in: samples))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}
