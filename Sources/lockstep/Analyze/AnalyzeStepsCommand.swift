import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors
import LockstepWire

struct AnalyzeStepsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "steps", abstract: "Count steps, with times, distance, pace and cadence, and floors.",
        usage: "lockstep analyze steps <file> [<options>]",
        discussion: """
            Steps are detected in the magnitude of the acceleration, so the position and orientation of the device do \
            not matter. The distance is the number of steps multiplied by the step length. Without --step-length, the \
            step length is estimated from height and cadence, with a typical error of up to 15 %. Floors are counted if the \
            recording has a pressure.

            EXAMPLES
              lockstep analyze steps walk.csv
              lockstep analyze steps walk.csv --step-length 0.72 --json
            """)

    @Argument(
        help: "A recording with a three-axis accelerometer or its magnitude, and pressure_hPa if it has it.")
    var file: String

    @OptionGroup var length: StepLengthOptions

    @OptionGroup var recordings: RecordingOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let (recording, samples) = try recordings.open(file)
        let report = StepReport(
            samples: samples, walks: WalkingInterval.all(in: samples, options: length.pedometer),
            floors: FloorTotals(samples, pressure: recording.samples(of: .pressure)),
            notes: RecordingNotes(recording, [samples]))
        Terminal.output.write(json ? report.json : report.text(for: .output))
    }
}

/// The result of `lockstep analyze steps`, as text and as JSON.
struct StepReport {
    let samples: SampleBlock
    let walks: [WalkingInterval]
    /// nil without a pressure.
    let floors: FloorTotals?
    let notes: RecordingNotes

    private var start: Int64 { samples.times.first ?? 0 }
    private var seconds: Double { Double((samples.times.last ?? 0) - start) / 1e6 }

    func text(for terminal: Terminal) -> String {
        guard let total = WalkingInterval.total(walks) else {
            return "no steps in \(counted(samples.count, "sample")) over \(fixed(seconds, 2)) s\n" + notes.lines
        }
        let times = RecordingTimes(start: start)
        let titles = [
            times.title, "DURATION (s)", "STEPS", "DISTANCE (m)", "PACE (s/m)", "CADENCE (steps/s)",
        ]
        var table = Table(titles.map { Table.Column($0, isRightAligned: true) })
        for walk in walks {
            table.rows.append([
                .init(times.text(walk.start)), .init(fixed(Double(walk.end - walk.start) / 1e6, 2)),
                .init("\(walk.steps)", .bold), .init(fixed(walk.distance, 1)), .init(fixed(walk.pace, 2)),
                .init(fixed(walk.cadence, 2)),
            ])
        }
        let summary =
            counted(total.steps, "step") + ", \(fixed(total.distance, 1)) m in \(fixed(total.seconds, 2)) s of walking"
            + " (\(fixed(total.pace, 2)) s/m, \(fixed(total.cadence, 2)) steps/s); \(fixed(seconds, 2)) s recorded"
        let climbed = floors.map { "\(counted($0.ascended, "floor")) up, \($0.descended) down\n" } ?? ""
        return table.text(for: terminal) + summary + "\n" + climbed + notes.lines
    }

    /// The JSON object; times in µs as in the recording, durations in s. `walked` is the walking time without short
    /// pauses.
    var json: String {
        var object = JSONObjectWriter()
        object.member("samples", Int64(samples.count))
        object.member("duration", resolved(seconds, decimals: 6))
        object.member("steps", Int64(WalkingInterval.total(walks)?.steps ?? 0))
        if let total = WalkingInterval.total(walks) { total.write(into: &object) }
        if let floors {
            object.member("floors_ascended", Int64(floors.ascended))
            object.member("floors_descended", Int64(floors.descended))
        }
        object.member("walks", walks) { writer, walk in
            writer.object { object in
                object.member("t", walk.start)
                object.member("duration", resolved(Double(walk.end - walk.start) / 1e6, decimals: 6))
                object.member("steps", Int64(walk.steps))
                walk.write(into: &object)
            }
        }
        notes.add(to: &object)
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}

/// The floors climbed in a recording.
struct FloorTotals: Equatable {
    private(set) var ascended = 0
    private(set) var descended = 0

    /// Adds the floors of two recordings.
    init(joining first: FloorTotals?, _ second: FloorTotals) {
        ascended = (first?.ascended ?? 0) + second.ascended
        descended = (first?.descended ?? 0) + second.descended
    }

    /// Counts floors; nil without a pressure.
    init?(_ accelerometer: SampleBlock, pressure: SampleBlock?) {
        guard let pressure, !pressure.isEmpty else { return nil }
        var pedometer = PedometerEstimator()
        var counter = FloorCounter()
        var rows = SampleBlock(stream: .floors)
        var reading = 0
        for first in stride(from: 0, to: accelerometer.count, by: 50) {
            let part = accelerometer[first..<min(first + 50, accelerometer.count)]
            let next = pressure.times[reading...].firstIndex { $0 > part.times.last ?? 0 } ?? pressure.count
            rows.append(contentsOf: counter.update(pressure[reading..<next]))
            reading = next
            rows.append(contentsOf: counter.update(pedometer.update(part)))
        }
        rows.append(contentsOf: counter.update(pedometer.finish()))
        rows.append(contentsOf: counter.finish())
        ascended = Int(rows.columns[1].reduce(0, +))
        descended = Int(rows.columns[2].reduce(0, +))
    }
}

extension WalkingInterval {
    /// Writes the members that a walk and the total have in common.
    fileprivate func write(into object: inout JSONObjectWriter) {
        object.member("walked", resolved(seconds, decimals: 6))
        object.member("distance", resolved(distance, decimals: 3))
        object.member("pace", resolved(pace, decimals: 3))
        object.member("cadence", resolved(cadence, decimals: 3))
    }
}

struct WalkingInterval: Equatable {
    /// The start of the first step, in µs as in the recording.
    var start: Int64
    /// The end of the last step, in µs as in the recording.
    var end: Int64
    var steps: Int
    /// The distance, in m.
    var distance: Double
    /// The time of walking without short pauses, in s.
    var seconds: Double

    /// The pace while walking, in s/m.
    var pace: Double { seconds / distance }
    /// The cadence while walking, in steps/s.
    var cadence: Double { Double(steps) / seconds }
}

extension WalkingInterval {
    /// The longest pause within one walk, in µs.
    private static let maxPause: Int64 = 3_000_000

    /// Returns the successive walks of a recording.
    static func all(in accelerometer: SampleBlock, options: PedometerOptions) -> [WalkingInterval] {
        var estimator = PedometerEstimator(options: options)
        let rows = [estimator.update(accelerometer), estimator.finish()]
        var walks: [WalkingInterval] = []
        for (block, index) in rows.flatMap({ block in block.times.indices.map { (block, $0) } }) {
            let start = Int64(block.columns[0][index])
            let end = block.times[index]
            let row = WalkingInterval(
                start: start, end: end, steps: Int(block.columns[1][index]), distance: block.columns[2][index],
                seconds: Double(end - start) / 1e6)
            if let last = walks.last, start - last.end <= maxPause {
                walks[walks.count - 1] = last.joined(row)
            } else {
                walks.append(row)
            }
        }
        return walks
    }

    /// Returns the sum of all walks, or nil if there are none.
    static func total(_ walks: [WalkingInterval]) -> WalkingInterval? {
        guard let first = walks.first else { return nil }
        return walks.dropFirst().reduce(first) { $0.joined($1) }
    }

    private func joined(_ later: WalkingInterval) -> WalkingInterval {
        WalkingInterval(
            start: start, end: later.end, steps: steps + later.steps, distance: distance + later.distance,
            seconds: seconds + later.seconds)
    }
}
