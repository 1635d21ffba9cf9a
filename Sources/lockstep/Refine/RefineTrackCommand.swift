import ArgumentParser
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

    @OptionGroup var options: RefineOptions

    @Option(
        help: """
            How much the velocity changes in a second, in m/s, 0.01 to 100: about 0.5 for pedestrians, 2 for vehicles.
            """)
    var acceleration = 1.0

    func run() throws {
        guard (0.01...100).contains(acceleration) else {
            throw CommandFailure("--acceleration must be from 0.01 to 100, not \(acceleration)")
        }
        var parameters = TrackSmootherParameters()
        parameters.acceleration = acceleration
        let refinement = Refinement(
            kind: .location, method: TrackSmoother.method, version: TrackSmoother.version, parameters: parameters.json,
            streams: [.location], need: "a track requires positions")
        try options.run(refinement) { input, output in
            var smoother = TrackSmoother(parameters: parameters)
            var rejected = 0
            func write(_ positions: [SmoothedPosition]) throws {
                rejected += positions.count { $0.isRejected && output.range.contains($0.time) }
                try output.write(positions.map(RefinedRow.init))
            }
            try StoredTrack(input: input).read { event in
                switch event {
                case .fix(let fix): try write(smoother.append(fix))
                case .steps(let velocity): try write(smoother.append(velocity))
                }
            }
            try write(smoother.finish())
            return RefineReport(
                device: input.device, noun: "position", rows: output.count, parts: smoother.parts, rejected: rejected,
                first: output.range.lowerBound, last: output.range.upperBound)
        }
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
    fileprivate var json: String {
        """
        {"acceleration":\(acceleration),"unknown_accuracy":\(unknownAccuracy),\
        "velocity_deviation":\(velocityDeviation),"step_deviation":\(stepDeviation),"gate":\(gate),\
        "confirmations":\(confirmations)}
        """
    }
}
