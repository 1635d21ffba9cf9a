import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeAttitudeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attitude", abstract: "Compute the attitude at every accelerometer sample.",
        usage: "lockstep analyze attitude <file> [<options>]",
        discussion: """
            Requires an accelerometer; uses a gyroscope and a magnetometer if the recording has them. --out writes the \
            recording with these additional columns:

              qw,qx,qy,qz      quaternion from device to reference frame
              roll,pitch,yaw   the same attitude as angles in rad
              gx,gy,gz         gravity in g
              ux,uy,uz         user acceleration in g
              rx,ry,rz         rotation rate without bias in rad/s
              mx,my,mz         calibrated magnetic field in µT
              macc             accuracy of the field: -1 uncalibrated, 0 low,
                               1 medium, 2 high
              frame            reference frame

            A column of the recording with one of these names is written as ref_NAME.

            If the recording has a reference attitude, qw,qx,qy,qz (device to earth, z up), the report contains the \
            error: the root mean square of the angle between the two attitudes, after the constant heading offset \
            between the two frames is removed. If the recording has a column 'movement', only rows with movement = 1 \
            are compared. A row with the quaternion (0,0,0,0) has no reference. If no reference is on a row with an \
            accelerometer sample, the command fails.

            EXAMPLES
              lockstep analyze attitude trial.csv --out attitude.csv
              lockstep analyze attitude trial.csv --frame arbitrary --json
            """)

    @Argument(help: "A recording; see 'lockstep help analyze'.")
    var file: String

    @Option(help: "CSV file to write: the recording, in CSV, with the attitude added. An existing file is replaced.")
    var out: String?

    @Option(
        help: """
            Reference frame of the attitude: arbitrary, arbitraryCorrected, magneticNorth or trueNorth (default: \
            magneticNorth). trueNorth requires positions in the recording (columns lat,lon) or --declination. Without \
            a magnetometer, the frame is always arbitrary.
            """, transform: { try choice($0, of: AttitudeReferenceFrame.self) })
    var frame = AttitudeReferenceFrame.magneticNorth

    @Option(
        help: """
            Magnetic declination for trueNorth, in degrees, east positive (default: from the positions of the recording \
            and the World Magnetic Model 2025).
            """)
    var declination: String?

    @Flag(help: "Calibrate the magnetometer (hard and soft iron) in the same way as lockstep-agent.")
    var calibrate = false

    @Option(help: RecordingSign.help)
    var sign = RecordingSign.lockstep

    @OptionGroup var recordings: RecordingOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let options = DeviceMotionEstimator.Options(
            referenceFrame: frame, declination: try declination.map(degrees), calibratesMagneticField: calibrate)
        let columns = AttitudeReference.columns
        let (recording, accelerometer) = try sign.open(
            file, extras: columns, options: recordings, for: "attitude")
        guard out == nil || recording.csvLayout != nil else {
            throw CommandFailure("\(file): --out adds columns to CSV only: use a recording in CSV, or omit --out")
        }
        var sensors = [accelerometer]
        for stream in [SensorStream.gyroscope, .magnetometer] {
            if let samples = recording.samples(of: stream), !samples.isEmpty { sensors.append(samples) }
        }
        var estimator = DeviceMotionEstimator(options: options, sensors: Set(sensors.map(\.stream)))
        let locations = try estimator.needsLocation ? locate(&estimator, in: recording) : []
        let motions = estimator.motions(of: sensors + locations)
        let reference = AttitudeReference(recording)
        let error = reference?.error(of: motions)
        if let out, let layout = recording.csvLayout {
            try AttitudeFile.write(motions, addedTo: file, layout, to: out)
        }
        let report = AttitudeReport(
            sensors: sensors, motions: motions, requestedFrame: frame,
            error: error,
            calibration: estimator.magneticCalibration, declination: estimator.declinationStatus,
            recordingNotes: RecordingNotes(recording, sensors).texts + (reference?.notes(of: motions) ?? []), out: out)
        Terminal.output.write(json ? report.json : report.text(for: .output))
        guard let reference, !reference.isEmpty, error == nil, !motions.isEmpty else { return }
        throw CommandFailure(
            "\(file): no reference attitude (qw,qx,qy,qz) is on a row with an accelerometer sample, so there is nothing to "
                + "compare: write each reference on the row of the accelerometer sample with its time, or remove the columns"
        )
    }

    /// Passes the first usable position to the estimator, so that samples before that position have the frame
    /// `trueNorth` too.
    /// - Returns: the positions of the recording.
    /// - Throws: ``CommandFailure`` if there is no usable position.
    private func locate(_ estimator: inout DeviceMotionEstimator, in recording: Recording) throws -> [SampleBlock] {
        let locations = recording.samples(of: .location) ?? SampleBlock(stream: .location)
        for (index, time) in locations.times.enumerated() where estimator.declinationStatus == .noLocation {
            let fix = SampleBlock(
                stream: .location, times: [time], columns: locations.columns.map { [$0[index]] })
            _ = estimator.update(fix)
        }
        guard estimator.declinationStatus != .noLocation else {
            let problem =
                locations.isEmpty ? "the recording has no position" : "no position of the recording is plausible"
            throw CommandFailure(
                "\(file): \(problem); --frame trueNorth requires the columns lat,lon, or --declination with the magnetic "
                    + "declination in degrees")
        }
        return [locations]
    }
}

extension DeviceMotionEstimator {
    /// Returns the device motion at each accelerometer sample of a recording.
    mutating func motions(of sensors: [SampleBlock]) -> [DeviceMotion] {
        // The estimator merges sensors by time, so pass blocks of 0.1 s of each sensor in turn, as for live samples.
        var motions: [DeviceMotion] = []
        var nextIndices = sensors.map { _ in 0 }
        while let start = zip(sensors, nextIndices).compactMap({ $0.times.dropFirst($1).first }).min() {
            for (index, sensor) in sensors.enumerated() {
                var end = nextIndices[index]
                while end < sensor.count, sensor.times[end] < start + 100_000 { end += 1 }
                let part = nextIndices[index]..<end
                nextIndices[index] = end
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
