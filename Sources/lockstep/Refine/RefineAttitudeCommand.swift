import ArgumentParser
import LockstepClickHouse
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

    @OptionGroup var options: StoreOptions

    @Option(
        help: "Device, as [GROUP/]DEVICE; the group is required if several groups have this device.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument

    @OptionGroup var times: TimeRangeOptions

    @Option(
        help: """
            Delay of the gyroscope's samples behind their timestamps, in sample intervals, 0 to 1 (default: 0). The \
            attitude is advanced by this delay. Use 0.5 for a sensor that filters the rate before it reports it.
            """)
    var gyroscopeDelay = 0.0

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let now = Moment.now().wall
        let (from, to) = try times.range(now: now)
        guard (0...1).contains(gyroscopeDelay) else {
            throw CommandFailure("--gyroscope-delay must be from 0 to 1, not \(gyroscopeDelay)")
        }
        let store = try options.address()
        let reader = try store.reader()
        let address = try device.onlyAddress(among: reader.devices().map(\.address))
        let motion = StoredMotion(reader: reader, device: address, from: from, to: to)
        try motion.check()
        let range = try RefinedInput(reader: reader, device: address, from: from, to: to).times(of: .gyroscope)
        var parameters = AttitudeSmootherParameters()
        parameters.gyroscopeDelay = gyroscopeDelay
        let clock = ContinuousClock.now
        let output = try store.refinedRun(
            of: address, kind: .attitude, method: AttitudeSmoother.method,
            version: AttitudeSmoother.version, parameters: parameters.json, now: now)
        let report: RefineReport
        do {
            var refinement = AttitudeRefinement(
                smoother: AttitudeSmoother(parameters: parameters), output: output, times: range)
            report = try refinement.run(motion, address)
        } catch {
            try? output.discard()
            throw error
        }
        let seconds = (ContinuousClock.now - clock) / .seconds(1)
        Terminal.output.write(json ? report.json(seconds: seconds) : report.text(seconds: seconds))
    }
}

extension AttitudeSmootherParameters {
    /// The parameters that can differ between runs of one version, as JSON.
    fileprivate var json: String {
        """
        {"heading_time":\(headingTime),"disturbed_field_weight":\(disturbedFieldWeight),\
        "gyroscope_delay":\(gyroscopeDelay),"accelerometer_time":\(vqf.accelerometerTime)}
        """
    }
}
