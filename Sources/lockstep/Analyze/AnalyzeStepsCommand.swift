import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeStepsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "steps", abstract: "Count steps, with times, distance, pace and cadence.",
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

    @Option(help: ArgumentHelp("Step length in metres, if known.", valueName: "m"))
    var stepLength: Double?

    @Option(
        help: ArgumentHelp(
            "Body height in metres, if known, to estimate the step length; not together with --step-length.",
            valueName: "m"))
    var height: Double?

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        if let stepLength, !PedometerOptions.stepLengths.contains(stepLength) {
            throw ValidationError("--step-length \(stepLength): use a length in metres from 0.1 to 3, such as 0.7")
        }
        if let height, !PedometerOptions.heights.contains(height) {
            throw ValidationError("--height \(height): use a height in metres from 0.3 to 3, such as 1.75")
        }
        if stepLength != nil, height != nil {
            throw ValidationError(
                "use either --step-length or --height: the height is only used to estimate the step length")
        }
    }

    func run() throws {
        let recording = try Recording(file: file)
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty else {
            throw CommandFailure(
                "\(file): no accelerometer columns; add x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 or magnitude_g")
        }
        let options = PedometerOptions(stepLength: stepLength, height: height)
        let report = StepReport(samples: samples, walks: WalkingInterval.all(in: samples, options: options))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}
