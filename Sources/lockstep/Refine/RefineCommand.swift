import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

struct RefineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refine",
        abstract: "Compute more accurate data from stored samples, with hindsight.",
        discussion: """
            Results are stored in tables of their own, in the store given with --store; samples are not changed. A \
            collector may be running. An SQLite store must be writable. The user of a ClickHouse store needs CREATE, \
            INSERT, SELECT and ALTER DELETE.
            """,
        subcommands: [RefineAttitudeCommand.self, RefineStepsCommand.self, RefineTrackCommand.self])
}

/// What a run computes, and how.
struct Refinement {
    let kind: RefinedKind
    let method: String
    let version: Int
    /// The parameters that can differ between runs of one version, as JSON.
    let parameters: String
    /// The streams that the time range must have. A run replaces the rows in the times of the first one.
    let streams: [SensorStream]
    let need: String
}

struct RefineOptions: ParsableArguments {
    @OptionGroup var store: StoreOptions

    @Option(
        help: "Device, as [GROUP/]DEVICE; the group is required if several groups have this device.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument

    @OptionGroup var times: TimeRangeOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    /// Carries out a run, and prints its report. After an error, its rows are removed.
    /// - Parameter body: reads the samples, and writes the rows.
    func run(
        _ refinement: Refinement, _ body: (RefinedInput, inout RefinedOutput) throws -> RefineReport
    ) throws {
        let now = Moment.now().wall
        let (from, to) = try times.range(now: now)
        let address = try store.address(isRead: false)
        let reader = try address.reader()
        let device = try device.onlyAddress(among: reader.devices().map(\.address))
        for stream in refinement.streams {
            try reader.checkSamples(of: stream, device, from: from, to: to, need: refinement.need)
        }
        let input = RefinedInput(reader: reader, device: device, from: from, to: to)
        let range = try input.times(of: refinement.streams[0])
        let clock = ContinuousClock.now
        let run = try address.refinedRun(refinement, of: device, now: now)
        let report: RefineReport
        do {
            var output = RefinedOutput(run: run, range: range)
            defer { output.progress.end() }
            report = try body(input, &output)
            try run.complete(first: range.lowerBound, last: range.upperBound)
        } catch {
            try? run.discard()
            throw error
        }
        let seconds = (ContinuousClock.now - clock) / .seconds(1)
        Terminal.output.write(json ? report.json(seconds: seconds) : report.text(seconds: seconds))
    }
}

extension StoreAddress {
    /// Begins a run that writes refined data of a device to the store.
    fileprivate func refinedRun(
        _ refinement: Refinement, of device: DeviceAddress, now: Timestamp
    ) throws -> any RefinedWriting {
        switch self {
        case .sqlite(let path):
            return try RefinedRun(
                path: path, device: device, kind: refinement.kind, method: refinement.method,
                version: refinement.version, parameters: refinement.parameters, now: now)
        case .clickHouse(let address):
            return try ClickHouseRefinedRun(
                address, device: device, kind: refinement.kind, method: refinement.method,
                version: refinement.version, parameters: refinement.parameters, now: now
            ) { Terminal.writeError("warning: \($0)") }
        }
    }
}
