import ArgumentParser
import LockstepCommandLine
import LockstepMotion
import LockstepSensors

/// What has to be known to work streams out of others.
struct DerivedStreamOptions: ParsableArguments {
    @Option(
        help: """
            What the attitude of motion/device is measured against: arbitrary, arbitraryCorrected, magneticNorth or \
            trueNorth. Without a magnetometer it is arbitrary; without --declination it is trueNorth from the first \
            location on. Each sample says which it is (default: magneticNorth).
            """)
    var frame: String?

    @Option(
        help: """
            Degrees from true to magnetic north at this place, east positive (default: by the World Magnetic Model at \
            the newest location).
            """)
    var declination: String?

    @Option(help: "For distances of steps: m from heel to heel, at the person's usual pace.")
    var stepLength: String?

    @Option(help: "For distances of steps, without --step-length: m of the person's height (default: 1.68).")
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
