import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Print the samples of one stream, sorted by device and time.",
        discussion: """
            Instead of a stream, these names are accepted:
              events           events of rules: number, time, device, rule, value, text
              rejected         rejected messages with the reason
              conflicts        samples that came again with other values
              steps_refined, attitude_refined, location_refined
                               what 'lockstep refine' has computed

            Streams: \(SensorStream.builtIn.map(\.name).joined(separator: ", ")), and declared streams in the store, \
            such as x/co2. The name of a stream's table is also accepted.
            Times: 2026-11-21T09:30:00Z, 2026-11-21T10:30+01:00, µs since 1970, now, or a duration before now such as -5m. \
            With --local, times without a zone are local.

            With --every, each row summarises the samples of a device in one interval, and its time is the start of \
            the interval. Intervals are aligned to 1970-01-01 UTC; intervals without samples are omitted. Amounts \
            such as 'steps' and 'distance' are summed; other values are averaged. Unknown values are ignored. Columns \
            without a meaningful average (text, times and other whole numbers, attitudes and courses) are omitted. \
            The column 'samples' has the number of samples.

            EXAMPLES
              lockstep query steps --store sqlite:samples.db --from -1h
              lockstep query steps --store sqlite:samples.db --csv > steps.csv
              lockstep query location --store sqlite:samples.db --last
              lockstep query steps --store sqlite:samples.db --from -1d --every 1h
              lockstep query accelerometer --store sqlite:samples.db --time collector --csv
              lockstep query rejected --store sqlite:samples.db --from -1h
            """)

    @Argument(help: "Name of a stream or of its table, or one of the names above.")
    var stream: String

    @OptionGroup var options: StoreOptions

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Only the newest sample of each device.")
    var last = false

    @Option(help: "Aggregate over intervals of 1s to 1d, such as 10s, 1m or 1h.")
    var every: String?

    @Option(help: "Maximum number of rows.")
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Time line of the rows: device (as stored), or collector, with the column bound_us, the largest possible error."
        ))
    var time: TimeReference = .device

    @Option(help: "Also read the samples of this folder of 'lockstep archive'.", completion: .directory)
    var archive: String?

    @Flag(help: "Output format.")
    var format: RowFormat = .text

    func run() throws {
        if let limit, limit < 0 { throw CommandFailure("--limit must be at least 0") }
        let detail = try detail()
        let now = Moment.now().wall
        let (from, to) = try selection.timeRange.rangeOrEmpty(now: now)
        if self.stream == "events" || FaultQuery.names.contains(self.stream) {
            guard detail == .samples, time == .device else {
                throw CommandFailure("--last, --every and --time are only for streams, not for '\(self.stream)'")
            }
        }
        if FaultQuery.names.contains(self.stream) {
            return try FaultQuery(selection: selection, from: from, to: to, limit: limit, format: format)
                .run(self.stream, try options.reader())
        }
        if self.stream == "events" {
            try EventQuery(
                group: selection.group, devices: selection.device, from: from, to: to, limit: limit, format: format
            ).run(try options.reader())
            return
        }
        let reader = try options.reader()
        let kind = RefinedKind(view: self.stream)
        let stream =
            try kind?.stream
            ?? reader.catalog().knownStream(
                stream, or: ["events"] + FaultQuery.names + RefinedKind.allCases.map(\.view))
        if kind != nil, every != nil || time == .collector {
            throw CommandFailure("--every and --time collector are not for '\(self.stream)'")
        }
        if archive != nil, kind != nil || detail != .samples || time != .device {
            throw CommandFailure(
                "--archive is only for samples of streams, without --last, --every and --time collector")
        }
        let selections = archive == nil ? try selection.groups(of: reader) : []
        if time == .collector {
            if last, to != nil {
                throw CommandFailure("use either --last or --to with --time collector, not both")
            }
            return try printOnCollectorTime(
                stream, detail, from: from, to: to, selections, reader)
        }
        var output = OutputBuffer()
        // After an error, print the rows read so far.
        defer { Terminal.output.write(output.bytes) }
        var writer = format.writer(columns: detail.columns(of: stream))
        writer.begin(into: &output)
        var remainingRows = limit
        var isEmpty = true
        func write(_ row: SampleRow) {
            isEmpty = false
            writer.write(row, into: &output)
            remainingRows = remainingRows.map { $0 - 1 }
            guard output.isFull else { return }
            Terminal.output.write(output.bytes)
            output.removeAll()
        }
        if let archive {
            try queryArchive(archive, stream, from: from, to: to, reader) { row in
                if remainingRows != 0 { write(row) }
            }
        }
        for selection in selections {
            if let kind {
                try printRefined(kind, selection, from: from, to: to, reader, limit: remainingRows, write)
            } else {
                try reader.query(
                    stream: stream, detail: detail, group: selection.group, devices: selection.devices, from: from,
                    to: to, limit: remainingRows, each: write)
            }
        }
        if isEmpty, limit != 0, archive == nil { try explainNothing(stream, kind, selections, reader) }
    }

    private func detail() throws -> QueryDetail {
        guard let every else { return last ? .last : .samples }
        guard time == .device else { throw CommandFailure("--every is only for --time device") }
        guard !last else { throw CommandFailure("use either --last or --every, not both") }
        let length = try parseDuration(every)
        guard (1_000_000...86_400_000_000).contains(length) else {
            throw CommandFailure("--every must be from 1s to 1d, not '\(every)'")
        }
        return .averages(span: length)
    }
}
