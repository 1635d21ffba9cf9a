import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeStepsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "steps", abstract: "How many steps were taken, when, how far and how fast.",
        discussion: """
            Steps are counted in the magnitude of the acceleration, so it does not matter where and how the device was \
            carried, and which way up it counts. The distance is the count times the length of a step: as given, or \
            else a guess from height and cadence that is easily 15 % off.

            EXAMPLES
              lockstep analyze steps walk.csv
              lockstep analyze steps walk.csv --step-length 0.72 --json
            """)

    @Argument(help: "The recording: a CSV file with an accelerometer, of three axes or as a magnitude.")
    var file: String

    @Option(help: ArgumentHelp("The length of a step, if known.", valueName: "m"))
    var stepLength: Double?

    @Option(help: ArgumentHelp("The person's height, if known.", valueName: "m"))
    var height: Double?

    @Flag(help: "One JSON object.")
    var json = false

    func validate() throws {
        if let stepLength, !PedometerOptions.stepLengths.contains(stepLength) {
            throw ValidationError("--step-length \(stepLength): a step is 0.1 to 3 m long")
        }
        if let height, !PedometerOptions.heights.contains(height) {
            throw ValidationError("--height \(height): a person is 0.3 to 3 m tall; write 1.75, not 175")
        }
        if stepLength != nil, height != nil {
            throw ValidationError("--step-length and --height: give one; a known step length makes the height needless")
        }
    }

    func run() throws {
        let recording = try Recording(file: file)
        guard let samples = recording.samples(of: .accelerometer), !samples.isEmpty else {
            throw CommandFailure(
                "\(file): no accelerometer; steps need x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 or magnitude_g")
        }
        let options = PedometerOptions(stepLength: stepLength, height: height)
        let report = StepReport(samples: samples, walks: WalkingInterval.all(in: samples, options: options))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}
