import LockstepCommandLine
import LockstepMotion
import LockstepSensors

/// The settings of derived streams.
struct DerivedStreamSettings: SettingGroup {
    let frame = Setting(
        "frame",
        """
        Reference frame of the attitude in motion/device: arbitrary, arbitraryCorrected, magneticNorth or trueNorth \
        (default: magneticNorth). Without a magnetometer, the frame is always arbitrary. Without --declination, \
        trueNorth requires a location; until the first one, the frame is magneticNorth. Each sample contains its frame.
        """
    ) { try choice($0, of: AttitudeReferenceFrame.self) }
    let declination = Setting(
        "declination",
        """
        Magnetic declination in degrees, east positive (default: from the World Magnetic Model at the newest location).
        """, degrees)
    let stepLength = Setting(
        "step-length",
        "Step length in m at normal walking speed, to compute distances (default: estimated from the height)."
    ) { try metres($0, in: PedometerOptions.stepLengths) }
    let height = Setting("height", "Height of the person in m, to estimate the step length (default: 1.68).") {
        try metres($0, in: PedometerOptions.heights)
    }
}

extension Options<DerivedStreamSettings> {
    func options(_ settings: Settings) throws -> DerivedOptions {
        var options = DerivedOptions()
        try settings.assign(self.frame, to: &options.deviceMotion.referenceFrame)
        options.deviceMotion.declination = try settings.value(self.declination)
        options.pedometer = PedometerOptions(
            stepLength: try settings.value(self.stepLength), height: try settings.value(self.height))
        return options
    }
}
