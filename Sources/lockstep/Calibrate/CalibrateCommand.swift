import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepSystem
import LockstepWire

struct CalibrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calibrate", abstract: "Calibrate the accelerometer and the gyroscope of a device.",
        usage: "lockstep calibrate <device> [<options>]",
        discussion: """
            Says in which position to lay the device next, and notices by itself when it lies still: on each of its six \
            sides, in any order, and then in three tilted positions, which show how good the result is. Use a level \
            table. The agent stores the calibration in its outbox, and applies it to all samples from then on. \
            See docs/motion.md.

            EXAMPLES
              lockstep calibrate lab/arm-left
              lockstep calibrate arm-left --show
              lockstep calibrate arm-left --undo
              lockstep calibrate arm-left --from positions.csv  # from a recording
              lockstep calibrate --from positions.csv --json    # only show the result
            """)

    @Argument(
        help: """
            Device, as [GROUP/]DEVICE; without a group, in any group. With --from and no device, the result is only \
            printed.
            """,
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @Flag(help: "Show the calibration that the agent applies.")
    var show = false

    @Flag(help: "Remove the calibration: samples are published as they are measured again.")
    var undo = false

    @Option(help: "Find the positions in a recording; see 'lockstep help analyze'.")
    var from: String?

    @Option(help: RecordingSign.help)
    var sign = RecordingSign.lockstep

    @OptionGroup var recordings: RecordingOptions

    @Option(help: "Give up if the device is not laid in a new position for this long.")
    var patience = "3m"

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print one JSON object: the calibration, or null. What to do next is then on standard error.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func run() throws {
        guard [show, undo, from != nil].count(where: { $0 }) <= 1 else {
            throw CommandFailure("use only one of --show, --undo and --from")
        }
        guard let device else {
            guard let from else { throw CommandFailure("name a device, or a recording with --from") }
            return write(try read(from, replacing: nil))
        }
        let target = try CalibrationTarget(connection, device)
        let description = try target.describe()
        if show { return write(description.calibration) }
        if undo {
            try target.send(.calibrate(nil))
            return json
                ? write(nil)
                : Terminal.output.write(
                    description.calibration == nil ? "\(target.device) was not calibrated\n" : "calibration removed\n")
        }
        let calibration =
            try from.map { try read($0, replacing: description.calibration) }
            ?? measure(target, description)
        try target.send(.calibrate(calibration))
        write(calibration)
    }

    /// Guides the user through the positions.
    private func measure(
        _ target: CalibrationTarget, _ description: AgentDescription
    ) throws -> InertialCalibration {
        let provided = description.streams.map(\.stream)
        guard provided.contains(.accelerometer) else { throw CommandFailure("\(target.device) has no accelerometer") }
        let streams = [SensorStream.accelerometer, .gyroscope].filter(provided.contains)
        let patience = Double(try parseDuration(patience)) / 1e6
        guard RateLease.validDurations.contains(patience) else {
            throw CommandFailure("--patience must be from 1s to 1d")
        }
        let run = try CalibrationRun(target, streams, replaced: description.calibration) { text in
            if json { Terminal.writeError(text) } else { Terminal.output.write(text + "\n") }
        }
        // From here on, Ctrl-C no longer ends the process at once, so that the leases are ended.
        defer { try? target.lease(streams, for: nil) }
        try target.lease(streams, for: min(86_400, patience * Double(6 + InertialCalibrator.checks)))
        let calibrator = try run.run(patience: patience)
        let calibration = try failing { () throws(InertialCalibrationError) in
            try calibrator.calibration(at: Moment.now().wall)
        }
        // Samples that were calibrated in different ways have no common error.
        guard try target.describe().calibration == description.calibration else {
            throw CommandFailure("the calibration of \(target.device) was changed meanwhile: start again")
        }
        return calibration
    }

    /// Finds the positions in a recording.
    /// - Parameter replaced: the calibration that the agent applies. A recording that began later has calibrated values.
    private func read(
        _ file: String, replacing replaced: InertialCalibration?
    ) throws -> InertialCalibration {
        let (recording, accelerometer) = try sign.open(file, options: recordings, for: "calibration")
        let gyroscope = recording.samples(of: .gyroscope).flatMap { $0.isEmpty ? nil : $0 }
        var detector = StillPositionDetector(hasGyroscope: gyroscope != nil)
        var calibrator = InertialCalibrator()
        if let replaced, replaced.time.microseconds <= accelerometer.times.first ?? 0 {
            Terminal.writeError(
                "the recording began after the calibration of \(replaced.time.shown), and counts as recorded with it; "
                    + "if its values are raw, remove the calibration first with --undo")
        }
        for samples in [gyroscope, accelerometer].compactMap({ $0 }) {
            let isCalibrated = replaced.map { $0.time.microseconds <= samples.times.first ?? 0 } ?? false
            let measured = isCalibrated ? replaced?.uncalibrated(samples) ?? samples : samples
            for position in detector.add(measured) {
                _ = try failing { () throws(InertialCalibrationError) in try calibrator.add(position) }
            }
        }
        return try failing { () throws(InertialCalibrationError) in try calibrator.calibration(at: Moment.now().wall) }
    }

    private func write(_ calibration: InertialCalibration?) {
        let shown = json ? calibration.map(object) ?? "null" : calibration.map { text(of: $0) } ?? "not calibrated"
        Terminal.output.write(shown + "\n")
    }

    private func object(_ calibration: InertialCalibration) -> String {
        String(decoding: CalibrationJSON.encode(calibration), as: UTF8.self)
    }

    /// Runs `body`, whose error becomes that of the command.
    private func failing<Result>(_ body: () throws(InertialCalibrationError) -> Result) throws -> Result {
        do { return try body() } catch { throw CommandFailure("\(error)") }
    }
}

/// Returns a calibration for people.
func text(of calibration: InertialCalibration, for terminal: Terminal = .output) -> String {
    var table = Table(["", .right("X"), .right("Y"), .right("Z")])
    func add(_ name: String, _ value: (Int) -> Double, _ decimals: Int) {
        table.rows.append([.init(name, .bold)] + (0..<3).map { .init(fixed(value($0), decimals)) })
    }
    add("scale", { calibration.matrix[$0][$0] }, 4)
    add("offset (mg)", { calibration.offset[$0] * 1000 }, 1)
    // The largest part of another axis in each one.
    add(
        "misalignment (°)",
        { axis in
            (0..<3).filter { $0 != axis }.map { abs(calibration.matrix[axis][$0]) * 180 / .pi }.max() ?? 0
        }, 2)
    if let rate = calibration.rotationOffset { add("gyroscope offset (°/s)", { rate[$0] * 180 / .pi }, 3) }
    return "calibrated \(calibration.time.shown), in \(counted(calibration.positions, "position"))\n"
        + "at rest, |a| differs from 1 g by \(fixed(calibration.errorAfter * 1000, 1)) mg, without the calibration by "
        + "\(fixed(calibration.errorBefore * 1000, 1)) mg"
        + (calibration.positions > 6 ? "" : "; no tilted position has checked it") + "\n\n"
        + table.text(for: terminal).trimmedEnd
}

extension String {
    /// The text without the newline at its end.
    fileprivate var trimmedEnd: String { hasSuffix("\n") ? String(dropLast()) : self }
}
