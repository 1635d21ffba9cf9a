import ArgumentParser
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

    @OptionGroup var options: RefineOptions

    @OptionGroup var length: StepLengthOptions

    func run() throws {
        let refinement = Refinement(
            kind: .steps, method: StepRefiner.method, version: StepRefiner.version, parameters: length.pedometer.json,
            streams: [.accelerometer], need: "steps are counted from the acceleration")
        try options.run(refinement) { input, output in
            var refiner = StepRefiner(options: length.pedometer)
            var walks: Set<Int64> = []
            func write(_ steps: [RefinedStep]) throws {
                walks.formUnion(steps.filter { output.range.contains($0.time) }.map(\.walk))
                try output.write(steps.map(RefinedRow.init))
            }
            try input.read(.accelerometer, margin: StepRefiner.margin) { time, values in
                try write(refiner.update(time: time.microseconds, x: values[0], y: values[1], z: values[2]))
            }
            try write(refiner.finish())
            return RefineReport(
                device: input.device, noun: "step", part: "walk", rows: output.count, parts: walks.count,
                first: output.range.lowerBound, last: output.range.upperBound)
        }
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
    fileprivate var json: String {
        let length = stepLength.map { "\($0)" } ?? "null"
        return "{\"step_length\":\(length),\"height\":\(height.map { "\($0)" } ?? "null")}"
    }
}
