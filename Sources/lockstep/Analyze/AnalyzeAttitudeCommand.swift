import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeAttitudeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attitude", abstract: "How a device was turned, at every sample of its accelerometer.",
        discussion: """
            Needs an accelerometer; a gyroscope and a magnetometer are used where the recording has them. --out writes \
            the recording with these columns added, named as those of motion/device: qw,qx,qy,qz (device to reference \
            frame), roll,pitch,yaw (rad), gx,gy,gz (gravity, g), ux,uy,uz (user acceleration, g), rx,ry,rz (rotation \
            rate without bias, rad/s), mx,my,mz (magnetic field, µT), macc, frame. A column of the recording with one \
            of these names is written as ref_NAME.

            Where the recording has a reference, qw,qx,qy,qz (device to earth, z up), the error is told: the root mean \
            square of the angle to it, of all rows or of those with 1 in a column 'movement', without the constant \
            angle between the headings of the two frames.

            EXAMPLES
              lockstep analyze attitude trial.csv --out attitude.csv
              lockstep analyze attitude trial.csv --frame arbitrary --json
            """)

    @Argument(help: "The recording: a CSV file.")
    var file: String

    @Option(help: "Where to write the recording with the attitude added; a file there is replaced.")
    var out: String?

    @Option(
        help: """
            arbitrary, arbitraryCorrected, magneticNorth (x east, y north, z up) or trueNorth; without a magnetometer \
            it is arbitrary.
            """, transform: { try choice($0, of: AttitudeReferenceFrame.self) })
    var frame = AttitudeReferenceFrame.magneticNorth

    @Option(help: "For trueNorth: degrees from true to magnetic north, east positive.")
    var declination: String?

    @Flag(help: "Find the device's own magnetic field (hard iron), and take it away first, as agents do.")
    var calibrate = false

    @Option(help: RecordingSign.help)
    var sign = RecordingSign.lockstep

    @Flag(help: "One JSON object.")
    var json = false

    func run() throws {
        let options = DeviceMotionEstimator.Options(
            referenceFrame: frame, declination: try declination.map(degrees), calibratesMagneticField: calibrate)
        guard frame != .trueNorth || options.declination != nil else {
            throw CommandFailure("--frame trueNorth needs --declination, the degrees from true to magnetic north")
        }
        let columns = AttitudeReference.columns
        let (recording, accelerometer) = try sign.open(file, extras: columns, for: "attitude")
        var sensors = [accelerometer]
        for stream in [SensorStream.gyroscope, .magnetometer] {
            if let samples = recording.samples(of: stream), !samples.isEmpty { sensors.append(samples) }
        }
        var estimator = DeviceMotionEstimator(options: options, sensors: Set(sensors.map(\.stream)))
        let motions = estimator.motions(of: sensors)
        if let out { try AttitudeFile.write(motions, beside: file, to: out) }
        let report = AttitudeReport(
            sensors: sensors, motions: motions, wanted: frame,
            error: AttitudeReference(recording).flatMap { $0.error(of: motions) },
            calibration: estimator.magneticCalibration, out: out)
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}

extension DeviceMotionEstimator {
    /// All that a recording's sensors tell.
    mutating func motions(of sensors: [SampleBlock]) -> [DeviceMotion] {
        // A tenth of a second at a time, as they would come.
        var motions: [DeviceMotion] = []
        var heads = sensors.map { _ in 0 }
        while let start = zip(sensors, heads).compactMap({ $0.times.dropFirst($1).first }).min() {
            for (index, sensor) in sensors.enumerated() {
                var end = heads[index]
                while end < sensor.count, sensor.times[end] < start + 100_000 { end += 1 }
                let part = heads[index]..<end
                heads[index] = end
                guard !part.isEmpty else { continue }
                motions += update(
                    SampleBlock(
                        stream: sensor.stream, times: Array(sensor.times[part]),
                        columns: sensor.columns.map { Array($0[part]) }))
            }
        }
        return motions + finish()
    }
}
