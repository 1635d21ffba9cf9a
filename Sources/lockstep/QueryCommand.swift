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
            The column 'samples' has the number of samples, and 'source' says what the row was computed from: samples, \
            summaries (of minutes), or both.

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
        let reader = try options.reader()
        if FaultQuery.names.contains(self.stream) {
            return try FaultQuery(selection: selection, from: from, to: to, limit: limit, format: format)
                .run(self.stream, reader)
        }
        if self.stream == "events" {
            return try EventQuery(
                group: selection.group, devices: selection.device, from: from, to: to, limit: limit, format: format
            ).run(reader)
        }
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
        if time == .collector, last, to != nil {
            throw CommandFailure("use either --last or --to with --time collector, not both")
        }
        let selections = archive == nil ? try selection.groups(of: reader) : []
        let columns = detail.columns(of: stream)
        var clock =
            time == .collector
            ? try CollectorTime(of: Self.devices(of: selections, reader), from: from, to: to, in: reader) : nil
        let extra = every != nil ? [Self.sourceColumn] : clock == nil ? [] : [CollectorTime.boundColumn]
        // Samples can be read again as a recording, like those of an export.
        let name = every == nil && kind == nil ? stream.name : nil
        var printer = RowPrinter(format.writer(columns: columns, extra: extra, stream: name), limit: limit)
        // After an error, print the rows read so far.
        defer {
            printer.flush()
            TimeReference.warn(clock)
        }
        guard limit != 0 else { return }
        do {
            if let archive {
                return try queryArchive(archive, stream, from: from, to: to, reader) { try printer.write($0) }
            }
            for selection in selections {
                if clock == nil, kind == nil {
                    var summarised = reader.summarisedSamples
                    try reader.query(
                        stream: stream, detail: detail, group: selection.group, devices: selection.devices, from: from,
                        to: to, limit: printer.remaining
                    ) { row in
                        guard every != nil else { return try printer.write(row) }
                        let source = RowSource(
                            samples: Int64(row.values.last ?? 0), summarised: reader.summarisedSamples - summarised)
                        summarised = reader.summarisedSamples
                        let values = row.values + [Double(source.rawValue)]
                        try printer.write(SampleRow(device: row.device, time: row.time, values: values))
                    }
                    continue
                }
                for device in try Self.devices(of: [selection], reader) {
                    if let kind {
                        try reader.refined(kind, of: device, from: from, to: to, newestOnly: last) { time, values in
                            try printer.write(SampleRow(device: device, time: time, values: values))
                        }
                    } else if let range = clock?.deviceRange(of: device) {
                        // The time range is on the collector's time line, too.
                        try reader.query(
                            stream: stream, detail: detail, group: device.group, devices: [device.device],
                            from: range.from, to: range.to, limit: nil
                        ) { row in
                            if let row = clock?.convert(row, columns: columns) { try printer.write(row) }
                        }
                    }
                }
            }
        } catch is RowPrinter.LimitReached {}
        if printer.isEmpty { try explainNothing(stream, kind, selections, reader) }
    }

    /// What the averages of a row were computed from.
    private static let sourceColumn = ExportColumn(
        name: "source", kind: .choice(RowSource.allCases.map(\.name)))

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

    /// Returns the stored devices that are selected.
    static func devices(
        of selections: [(group: GroupID?, devices: [DeviceID])], _ reader: StoreReader
    ) throws -> [DeviceAddress] {
        try reader.devices().map(\.address).filter { address in
            selections.contains { selection in
                address.group == selection.group ?? address.group
                    && (selection.devices.isEmpty || selection.devices.contains(address.device))
            }
        }
    }

    /// Explains an empty result on standard error: the output is valid, but often not what the user looked for.
    func explainNothing(
        _ stream: SensorStream, _ kind: RefinedKind?, _ selections: [(group: GroupID?, devices: [DeviceID])],
        _ reader: StoreReader
    ) throws {
        let devices = try Self.devices(of: selections, reader)
        let merge: any MergeReading = kind.map { RefinedExportReader($0, in: reader) } ?? reader
        let ranges = try merge.timeRanges(of: stream, devices: devices, from: nil, to: nil).values
        let subject = devices.count == 1 ? "\(devices[0])" : counted(devices.count, "device")
        Terminal.writeError(
            absence(
                of: stream.name, subject, stored: Array(ranges),
                advice: kind.map { ": run 'lockstep refine \($0.command)' first" } ?? ""))
    }

    /// Calls `each` with the samples of the store and of an archive, ordered by device and time, each once.
    func queryArchive(
        _ folder: String, _ stream: SensorStream, from: Timestamp?, to: Timestamp?, _ reader: StoreReader,
        each: (SampleRow) throws -> Void
    ) throws {
        let manifest = try ArchiveManifest(folder: folder)
        let known = Set(try reader.devices().map(\.address) + manifest.entries.values.map(\.device))
        if let group = selection.group { try checkGroup(group, among: Array(known)) }
        let devices =
            try selection.device.isEmpty
            ? known.filter { selection.group ?? $0.group == $0.group }
            : selection.device.addresses(in: selection.group, among: Array(known))
        let times = (from?.microseconds ?? .min)..<max(from?.microseconds ?? .min, to?.microseconds ?? .max)
        for device in devices.sorted() {
            var files = manifest.files(of: stream, device, times)[...]
            var rows: ArchiveRows?
            /// Returns the next sample of the archive, if it is before a time.
            func archived(before time: Int64) throws -> SampleRow? {
                while true {
                    if rows == nil, let file = files.first, file.first < time {
                        rows = try ArchiveRows(files.removeFirst(), of: stream, in: folder)
                    }
                    guard let row = try rows?.peek() else {
                        // The end of this file, or there is none for this time.
                        if rows == nil { return nil }
                        rows = nil
                        continue
                    }
                    guard row.time.microseconds < time else { return nil }
                    rows?.skip()
                    if times.contains(row.time.microseconds) { return row }
                }
            }
            try reader.query(
                stream: stream, detail: .samples, group: device.group, devices: [device.device], from: from, to: to,
                limit: nil
            ) { row in
                // What is in both is the same.
                var isArchived = false
                while let other = try archived(before: row.time.microseconds + 1) {
                    isArchived = other.time == row.time
                    try each(other)
                }
                if !isArchived { try each(row) }
            }
            while let row = try archived(before: .max) { try each(row) }
        }
    }
}

extension RefinedKind {
    /// The subcommand of `lockstep refine` that computes this kind.
    var command: String { self == .location ? "track" : rawValue }
}

/// Writes rows to standard output, up to a limit.
private struct RowPrinter {
    /// Ends a query.
    struct LimitReached: Error {}

    private var writer: any RowWriter
    private var output = OutputBuffer()
    private(set) var remaining: Int?
    private(set) var isEmpty = true

    init(_ writer: any RowWriter, limit: Int?) {
        self.writer = writer
        remaining = limit
        self.writer.begin(into: &output)
    }

    mutating func write(_ row: SampleRow) throws(LimitReached) {
        isEmpty = false
        writer.write(row, into: &output)
        if output.isFull { flush() }
        guard let left = remaining else { return }
        remaining = left - 1
        if left <= 1 { throw LimitReached() }
    }

    mutating func flush() {
        Terminal.output.write(output.bytes)
        output.removeAll()
    }
}
