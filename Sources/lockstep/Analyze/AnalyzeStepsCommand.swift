import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeStepsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "steps", abstract: "Count steps, with times, distance, pace and cadence.",
        usage: "lockstep analyze steps <file> [<options>]",
        discussion: """
            Steps are detected in the magnitude of the acceleration, so the position and orientation of the device do \
            not matter. The distance is the number of steps multiplied by the step length. Without --step-length, the \
            step length is estimated from height and cadence, with a typical error of up to 15 %.

            EXAMPLES
              lockstep analyze steps walk.csv
              lockstep analyze steps walk.csv --step-length 0.72 --json
            """)

    @Argument(help: "Recording: a CSV file with a three-axis accelerometer or its magnitude.")
    var file: String

    @OptionGroup var length: StepLengthOptions

    @OptionGroup var recordings: RecordingOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let recording = try Recording(file: file, isStrict: recordings.strict, format: recordings.format())
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty else {
            throw CommandFailure(
                "\(file): no accelerometer columns; add x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 or magnitude_g")
        }
        let report = StepReport(
            samples: samples, walks: WalkingInterval.all(in: samples, options: length.pedometer),
            notes: RecordingNotes(recording, [samples]))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}
