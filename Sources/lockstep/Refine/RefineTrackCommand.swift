import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

struct RefineTrackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "track",
        abstract: "Smooth the positions of a device with the fixes before and after each time.",
        usage: "lockstep refine track --device <device> [--store <store>] [<options>]",
        discussion: """
            Reads the locations of one device and, if stored, its steps and headings, which bridge gaps between fixes. \
            For each fix, and for steps in gaps of more than 3 s, it writes a row that the view location_refined shows. \
            Outliers are rejected. A new run replaces the rows of previous runs in its time range.

            EXAMPLES
              lockstep refine track --device lab/left --store sqlite:samples.db
              lockstep refine track --device van --acceleration 2 --store sqlite:samples.db
            """)

    @OptionGroup var options: StoreOptions

    @Option(
        help: "Device, as [GROUP/]DEVICE; the group is required if several groups have this device.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument

    @OptionGroup var times: TimeRangeOptions

    @Option(
        help: """
            How much the velocity changes in a second, in m/s, 0.01 to 100: about 0.5 for pedestrians, 2 for vehicles.
            """)
    var acceleration = 1.0

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let now = Moment.now().wall
        let (from, to) = try times.range(now: now)
        guard (0.01...100).contains(acceleration) else {
            throw CommandFailure("--acceleration must be from 0.01 to 100, not \(acceleration)")
        }
        let store = try options.address()
        let reader = try store.reader()
        let address = try device.onlyAddress(among: reader.devices().map(\.address))
        try reader.checkSamples(of: .location, address, from: from, to: to, need: "a track requires positions")
        let input = RefinedInput(reader: reader, device: address, from: from, to: to)
        let range = try input.times(of: .location)
        var parameters = TrackSmootherParameters()
        parameters.acceleration = acceleration
        let clock = ContinuousClock.now
        var smoother = TrackSmoother(parameters: parameters)
        var rejected = 0
        let output = try RefinedOutput.write(times: range) {
            try store.refinedRun(
                of: address, kind: .location,
                method: TrackSmoother.method, version: TrackSmoother.version, parameters: parameters.json, now: now)
        } _: { output in
            func write(_ positions: [SmoothedPosition]) throws {
                rejected += positions.count { $0.isRejected && range.contains($0.time) }
                try output.write(positions.map(RefinedRow.init))
            }
            try StoredTrack(input: input).read { event in
                switch event {
                case .fix(let fix): try write(smoother.append(fix))
                case .steps(let velocity): try write(smoother.append(velocity))
                }
            }
            try write(smoother.finish())
        }
        let report = RefineReport(
            device: address, noun: "position", rows: output.count, parts: smoother.parts, rejected: rejected,
            first: range.lowerBound, last: range.upperBound)
        let seconds = (ContinuousClock.now - clock) / .seconds(1)
        Terminal.output.write(json ? report.json(seconds: seconds) : report.text(seconds: seconds))
    }
}

extension RefinedRow {
    fileprivate init(_ position: SmoothedPosition) {
        self.init(
            time: position.time,
            values: [
                resolved(position.coordinate.latitude, decimals: 8),
                resolved(position.coordinate.longitude, decimals: 8), resolved(position.accuracy, decimals: 3),
                resolved(position.speed, decimals: 3), position.course.map { compassDegrees($0, decimals: 2) } ?? .nan,
                position.hasFix ? 1 : 0, position.isRejected ? 1 : 0,
            ])
    }
}

extension TrackSmootherParameters {
    /// The parameters as JSON.
    fileprivate var json: String {
        """
        {"acceleration":\(acceleration),"unknown_accuracy":\(unknownAccuracy),\
        "velocity_deviation":\(velocityDeviation),"step_deviation":\(stepDeviation),"gate":\(gate),\
        "confirmations":\(confirmations)}
        """
    }
}
