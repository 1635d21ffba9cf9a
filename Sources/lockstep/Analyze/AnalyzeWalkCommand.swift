import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepStore
import LockstepWire

struct AnalyzeWalkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "walk", abstract: "Measure the gait: cadence, duration of strides and its variation, symmetry.",
        usage: "lockstep analyze walk [<file>] [--store <store>] [<options>]",
        discussion: """
            Reads the accelerometer of a device in a store, or of a recording. A stride is the time from a step to the \
            next one of the same foot. Turns and pauses are left out of its mean and variation. The symmetry is the \
            duration of the steps of the quicker foot relative to that of the other; wear the sensor in the middle of \
            the body for it. The speed is printed with --step-length or --height.

            EXAMPLES
              lockstep analyze walk --device lab/left --from -1h --store sqlite:samples.db
              lockstep analyze walk walk.csv --step-length 0.72 --json
            """)

    @Argument(
        help: "A recording with a three-axis accelerometer or its magnitude; not together with --device.")
    var file: String?

    @OptionGroup var options: StoreOptions

    @Option(
        help: "Device in the store, as [GROUP/]DEVICE; the group is required if several groups have this device.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @OptionGroup var times: TimeRangeOptions

    @OptionGroup var length: StepLengthOptions

    @OptionGroup var recordings: RecordingOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard (file == nil) != (device == nil) else {
            throw ValidationError("use either a recording or --device")
        }
        if file != nil, times.from != nil || times.to != nil {
            throw ValidationError("--from and --to are only for --device")
        }
    }

    func run() throws {
        let (steps, notes) = try device.map { (try storedSteps($0), nil) } ?? recordedSteps(file ?? "")
        let report = GaitReport(
            steps: steps.count, gait: GaitAnalysis(steps),
            notes: notes, hasLength: length.stepLength != nil || length.height != nil)
        Terminal.output.write(json ? report.json : report.text)
    }

    private func recordedSteps(_ file: String) throws -> ([RefinedStep], RecordingNotes?) {
        let (recording, samples) = try recordings.open(file)
        var refiner = StepRefiner(options: length.pedometer)
        return (refiner.update(samples) + refiner.finish(), RecordingNotes(recording, [samples]))
    }

    private func storedSteps(_ device: DeviceArgument) throws -> [RefinedStep] {
        let (from, to) = try times.range(now: Moment.now().wall)
        let reader = try options.reader()
        let address = try device.onlyAddress(among: reader.devices().map(\.address))
        try reader.checkSamples(
            of: .accelerometer, address, from: from, to: to, need: "steps are found in the acceleration")
        let input = RefinedInput(reader: reader, device: address, from: from, to: to)
        let range = try input.times(of: .accelerometer)
        var refiner = StepRefiner(options: length.pedometer)
        var steps: [RefinedStep] = []
        try input.read(.accelerometer, margin: StepRefiner.margin) { time, values in
            steps += refiner.update(time: time.microseconds, x: values[0], y: values[1], z: values[2])
        }
        return (steps + refiner.finish()).filter { range.contains($0.time) }
    }
}

/// The result of `lockstep analyze walk`, as text and as JSON.
struct GaitReport {
    let steps: Int
    /// nil without strides.
    let gait: GaitAnalysis?
    /// nil for the samples of a store.
    let notes: RecordingNotes?
    /// Whether the step length was given, or the height to estimate it.
    let hasLength: Bool

    var text: String {
        let end = notes?.lines ?? ""
        guard let gait else { return "no walk of several strides; \(counted(steps, "step"))\n" + end }
        var lines = [
            "\(counted(gait.steps, "step")) in \(counted(gait.walks, "walk")), \(fixed(gait.seconds, 1)) s of walking",
            "cadence      \(fixed(gait.cadence, 3)) steps/s (\(fixed(60 * gait.cadence, 1)) a minute)",
            "stride time  \(fixed(gait.strideTime, 3)) s on average of \(counted(gait.strides, "stride")), standard "
                + "deviation \(fixed(gait.strideDeviation, 3)) s (\(fixed(100 * gait.strideVariation, 1)) %)",
        ]
        if let symmetry = gait.stepSymmetry {
            lines.append("symmetry     \(fixed(symmetry, 3)) (1 if the steps of both feet take as long)")
        }
        if hasLength { lines.append("speed        \(fixed(gait.speed, 2)) m/s") }
        return lines.joined(separator: "\n") + "\n" + end
    }

    /// The JSON object; durations in s. Members that are not known are missing.
    var json: String {
        var object = JSONObjectWriter()
        object.member("steps", Int64(steps))
        if let gait {
            object.member("walks", Int64(gait.walks))
            object.member("walked", resolved(gait.seconds, decimals: 6))
            object.member("cadence", resolved(gait.cadence, decimals: 4))
            object.member("strides", Int64(gait.strides))
            object.member("stride_time", resolved(gait.strideTime, decimals: 4))
            object.member("stride_deviation", resolved(gait.strideDeviation, decimals: 4))
            object.member("stride_variation", resolved(gait.strideVariation, decimals: 4))
            if let symmetry = gait.stepSymmetry { object.member("symmetry", resolved(symmetry, decimals: 4)) }
            if hasLength { object.member("speed", resolved(gait.speed, decimals: 3)) }
        }
        notes?.add(to: &object)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}
