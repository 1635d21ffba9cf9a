import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

struct RefineStepsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "steps",
        abstract: "Determine each step of a device, with its time and length, from the samples before and after it.",
        usage: "lockstep refine steps --device <device> [--store <store>] [<options>]",
        discussion: """
            Reads the accelerometer of one device. For each step, it writes a row that the view steps_refined shows. A \
            new run replaces the rows of previous runs in its time range. Without --step-length, the step length is \
            estimated from height and cadence, with a typical error of up to 15 %.

            EXAMPLES
              lockstep refine steps --device lab/left --store sqlite:samples.db
              lockstep refine steps --device left --height 1.75 --store sqlite:samples.db
            """)

    @OptionGroup var options: StoreOptions

    @Option(
        help: "Device, as [GROUP/]DEVICE; the group is required if several groups have this device.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument

    @OptionGroup var times: TimeRangeOptions

    @OptionGroup var length: StepLengthOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let now = Moment.now().wall
        let (from, to) = try times.range(now: now)
        let store = try options.address()
        let reader = try store.reader()
        let address = try device.onlyAddress(among: reader.devices().map(\.address))
        try reader.checkSamples(
            of: .accelerometer, address, from: from, to: to, need: "steps are counted from the acceleration")
        let input = RefinedInput(reader: reader, device: address, from: from, to: to)
        let range = try input.times(of: .accelerometer)
        let clock = ContinuousClock.now
        var refiner = StepRefiner(options: length.pedometer)
        var walks: Set<Int64> = []
        let output = try RefinedOutput.write(times: range) {
            try store.refinedRun(
                of: address, kind: .steps, method: StepRefiner.method,
                version: StepRefiner.version, parameters: length.pedometer.json, now: now)
        } _: { output in
            func write(_ steps: [RefinedStep]) throws {
                walks.formUnion(steps.filter { range.contains($0.time) }.map(\.walk))
                try output.write(steps.map(RefinedRow.init))
            }
            try input.read(.accelerometer, margin: StepRefiner.margin) { time, values in
                try write(refiner.update(time: time.microseconds, x: values[0], y: values[1], z: values[2]))
            }
            try write(refiner.finish())
        }
        let report = RefineReport(
            device: address, noun: "step", part: "walk", rows: output.count, parts: walks.count,
            first: range.lowerBound, last: range.upperBound)
        let seconds = (ContinuousClock.now - clock) / .seconds(1)
        Terminal.output.write(json ? report.json(seconds: seconds) : report.text(seconds: seconds))
    }
}

extension RefinedRow {
    fileprivate init(_ step: RefinedStep) {
        self.init(
            time: step.time,
            values: [
                Double(step.start), Double(step.walk), resolved(step.length, decimals: 4),
                resolved(step.cadence, decimals: 4),
            ])
    }
}

extension PedometerOptions {
    /// The options as JSON.
    fileprivate var json: String {
        let length = stepLength.map { "\($0)" } ?? "null"
        return "{\"step_length\":\(length),\"height\":\(height.map { "\($0)" } ?? "null")}"
    }
}
