import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

struct AnalyzeSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Compare steps, floors, shakes and activities with the labels of many recordings.",
        usage: "lockstep analyze set <table>",
        discussion: """
            The table is a CSV file. Its column 'file' names recordings in the folder of the table. Further columns are \
            optional: steps (the true number), activity, detail, and place (of the sensor). There is one line for each \
            activity, detail and place. ERROR is that of the number of steps, where it is known. UP and DOWN are \
            floors, of recordings with a pressure. The last columns are the shares of the time in \
            which each activity was recognised; the rest, such as the first seconds, is unknown.

            EXAMPLE
              lockstep analyze set walks/truth.csv
            """)

    @Argument(help: "Table of recordings: a CSV file.")
    var table: String

    func run() throws {
        guard let content = try? String(contentsOfFile: table, encoding: .utf8) else {
            throw CommandFailure("cannot read \(table)")
        }
        let lines = content.split(whereSeparator: \.isNewline)
        let fields = { (line: Substring) in
            line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let header = lines.first.map(fields) ?? []
        guard header.contains("file") else { throw CommandFailure("\(table): the header has no column 'file'") }
        let folder = table.lastIndex(of: "/").map { table[...$0] } ?? ""
        var groups: [String: Group] = [:]
        for line in lines.dropFirst() {
            let row = Dictionary(zip(header, fields(line))) { first, _ in first }
            let recording = try Recording(file: folder + (row["file"] ?? ""))
            guard let samples = recording.samples(of: .accelerometer) else { continue }
            let name = ["activity", "detail", "placement", "place"].compactMap { row[$0] }.joined(separator: " ")
            groups[name, default: Group()].add(
                samples, location: recording.samples(of: .location), steps: row["steps"].flatMap { Double($0) },
                floors: FloorTotals(samples, pressure: recording.samples(of: .pressure)))
        }
        Terminal.output.write(text(groups))
    }

    /// The results of the recordings with the same labels.
    private struct Group {
        var count = 0
        var seconds = 0.0
        var steps = 0
        /// nil without a pressure.
        var floors: FloorTotals?
        var shakes = 0
        /// The relative errors of the steps, where the true number is known and not 0.
        var errors: [Double] = []
        var durations: [MotionActivity.Kind: Double] = [:]

        mutating func add(
            _ samples: SampleBlock, location: SampleBlock?, steps truth: Double?, floors new: FloorTotals?
        ) {
            if let new { floors = FloorTotals(joining: floors, new) }
            let found = WalkingInterval.total(WalkingInterval.all(in: samples, options: PedometerOptions()))?.steps ?? 0
            var detector = ShakeDetector()
            for (index, time) in samples.times.enumerated() {
                let (x, y, z) = (samples.columns[0][index], samples.columns[1][index], samples.columns[2][index])
                if detector.update(time: time, x: x, y: y, z: z) != nil { shakes += 1 }
            }
            for interval in ActivityInterval.all(in: samples, location: location) {
                durations[interval.activity.kind, default: 0] += interval.seconds
            }
            count += 1
            seconds += Double((samples.times.last ?? 0) - (samples.times.first ?? 0)) / 1e6
            steps += found
            if let truth, truth > 0 { errors.append(Double(found) / truth - 1) }
        }
    }

    private func text(_ groups: [String: Group]) -> String {
        let kinds = MotionActivity.Kind.allCases.filter { $0 != .unknown }
        let titles =
            ["N", "MINUTES", "STEPS/MIN", "MEAN ERROR", "WORST", "UP", "DOWN", "SHAKES"]
            + kinds.map { $0.rawValue.uppercased() }
        var table = Table(["LABELS"] + titles.map { Table.Column($0, isRightAligned: true) })
        for (name, group) in groups.sorted(by: { $0.key < $1.key }) {
            let mean = group.errors.reduce(0) { $0 + abs($1) } / Double(max(group.errors.count, 1))
            let worst = group.errors.max { abs($0) < abs($1) }
            let figures = [
                "\(group.count)", fixed(group.seconds / 60, 1), fixed(Double(group.steps) / group.seconds * 60, 1),
                worst == nil ? "" : fixed(mean * 100, 1) + " %", worst.map { fixed($0 * 100, 1) + " %" } ?? "",
                group.floors.map { "\($0.ascended)" } ?? "", group.floors.map { "\($0.descended)" } ?? "",
                "\(group.shakes)",
            ]
            let shares = kinds.map { fixed((group.durations[$0] ?? 0) / group.seconds * 100, 0) + " %" }
            table.rows.append(([name] + figures + shares).map { .init($0) })
        }
        return table.text(for: .output)
    }
}
