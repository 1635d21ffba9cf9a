import ArgumentParser
import LockstepCommandLine
import LockstepMotion
import LockstepSensors

/// The options of derived streams.
struct DerivedStreamOptions: ParsableArguments {
    @Option(
        help: """
            Reference frame of the attitude in motion/device: arbitrary, arbitraryCorrected, magneticNorth or \
            trueNorth (default: magneticNorth). Without a magnetometer, the frame is always arbitrary. Without \
            --declination, trueNorth requires a location; until the first one, the frame is magneticNorth. Each \
            sample contains its frame.
            """)
    var frame: String?

    @Option(
        help: """
            Magnetic declination in degrees, east positive (default: from the World Magnetic Model at the newest \
            location).
            """)
    var declination: String?

    @Option(
        help: "Step length in m at normal walking speed, to compute distances (default: estimated from the height).")
    var stepLength: String?

    @Option(help: "Height of the person in m, to estimate the step length (default: 1.68).")
    var height: String?

    static let names = ["frame", "declination", "step-length", "height"]

    func options(_ settings: Settings) throws -> DerivedOptions {
        var options = DerivedOptions()
        if let frame = try settings.value(
            "frame", frame, parse: { try choice($0, of: AttitudeReferenceFrame.self) })
        {
            options.deviceMotion.referenceFrame = frame
        }
        options.deviceMotion.declination = try settings.value("declination", declination, parse: degrees)
        options.pedometer = PedometerOptions(
            stepLength: try settings.value("step-length", stepLength) {
                try metres($0, in: PedometerOptions.stepLengths)
            },
            height: try settings.value("height", height) { try metres($0, in: PedometerOptions.heights) })
        return options
    }
}
