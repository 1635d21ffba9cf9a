import ArgumentParser
import LockstepMotion

/// The options `--step-length` and `--height`.
struct StepLengthOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Step length in metres, if known.", valueName: "m"))
    var stepLength: Double?

    @Option(
        help: ArgumentHelp(
            "Body height in metres, if known, to estimate the step length; not together with --step-length.",
            valueName: "m"))
    var height: Double?

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

    var pedometer: PedometerOptions { PedometerOptions(stepLength: stepLength, height: height) }
}
