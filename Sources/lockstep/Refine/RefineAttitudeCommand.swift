import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

struct RefineAttitudeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attitude",
        abstract: "Compute the attitude of a device from the samples before and after each time.",
        usage: "lockstep refine attitude --device <device> [--store <store>] [<options>]",
        discussion: """
            Reads gyroscope, accelerometer and, if stored, magnetometer of one device. For each gyroscope sample, it \
            writes a row that the view attitude_refined shows, with the attitude (device to east, magnetic north, up; \
            without magnetometer, the heading is arbitrary) and the bias of the gyroscope. A new run replaces the rows \
            of previous runs in its time range.

            EXAMPLES
              lockstep refine attitude --device lab/left --store sqlite:samples.db
              lockstep refine attitude --device left --from -1d --store sqlite:samples.db
            """)

    @OptionGroup var options: RefineOptions

    @Option(
        help: """
            Delay of the gyroscope's samples behind their timestamps, in sample intervals, 0 to 1 (default: 0). The \
            attitude is advanced by this delay. Use 0.5 for a sensor that filters the rate before it reports it.
            """)
    var gyroscopeDelay = 0.0

    func run() throws {
        guard (0...1).contains(gyroscopeDelay) else {
            throw CommandFailure("--gyroscope-delay must be from 0 to 1, not \(gyroscopeDelay)")
        }
        var parameters = AttitudeSmootherParameters()
        parameters.gyroscopeDelay = gyroscopeDelay
        let refinement = Refinement(
            kind: .attitude, method: AttitudeSmoother.method, version: AttitudeSmoother.version,
            parameters: parameters.json, streams: [.gyroscope, .accelerometer],
            need: "the attitude requires gyroscope and accelerometer")
        try options.run(refinement) { input, output in
            var stream = AttitudeStream(smoother: AttitudeSmoother(parameters: parameters))
            try StoredMotion(input: input).read(margin: stream.margin) { sample in
                try output.write(stream.append(sample).map(RefinedRow.init))
            }
            try output.write(stream.finish().map(RefinedRow.init))
            guard let first = output.first, let last = output.last else {
                throw CommandFailure(
                    "gyroscope and accelerometer of \(input.device) have no samples at the same time in this time range"
                )
            }
            return RefineReport(
                device: input.device, noun: "attitude", rows: output.count, parts: stream.parts, first: first,
                last: last)
        }
    }
}

extension RefinedRow {
    fileprivate init(_ attitude: RefinedAttitude) {
        let (rotation, bias) = (attitude.attitude, attitude.gyroscopeBias)
        self.init(
            time: attitude.time,
            values: [
                rotation.scalar, rotation.vector.x, rotation.vector.y, rotation.vector.z, bias.x, bias.y, bias.z,
                attitude.gyroscopeBiasSigma, attitude.isAtRest ? 1 : 0, attitude.isMagneticFieldDisturbed ? 1 : 0,
            ])
    }
}

extension AttitudeSmootherParameters {
    fileprivate var json: String {
        """
        {"heading_time":\(headingTime),"disturbed_field_weight":\(disturbedFieldWeight),\
        "gyroscope_delay":\(gyroscopeDelay),"accelerometer_time":\(vqf.accelerometerTime)}
        """
    }
}
