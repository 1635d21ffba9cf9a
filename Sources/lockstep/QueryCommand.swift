import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Samples of one stream, by device and time.",
        discussion: """
            Streams: \(SensorStream.builtIn.map(\.name).joined(separator: ", ")); a table's name does as well.
            Streams declared in the settings of the collector, such as x/co2, are known to the store.
            Times: 2026-11-21T09:30:00Z, µs since 1970, now, or a span before now such as -5m.

            With --every a row stands for the samples of a device in a span of time, and has the time at which the span
            starts; spans are counted from 1970-01-01 UTC, and those without samples are left out. Values are means of
            what is known, but for 'steps' and their 'distance', which are sums. Left out is what has no mean: words,
            times and other whole numbers, attitudes and courses. The column 'samples' says how many samples there are.

            EXAMPLES
              lockstep query steps --store sqlite:samples.db --from -1h
              lockstep query accelerometer --store sqlite:samples.db --device left --csv > left.csv
              lockstep query location --store sqlite:samples.db --last
              lockstep query steps --store sqlite:samples.db --from -1d --every 1h
            """)

    @Argument(help: "The stream, or its table.")
    var stream: String

    @OptionGroup var options: StoreOptions

    @Option(help: "Only this device; may be repeated.", transform: deviceID)
    var device: [DeviceID] = []

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Option(parsing: .unconditional, help: "The first time that counts.")
    var from: String?

    @Option(parsing: .unconditional, help: "The first time that counts no more.")
    var to: String?

    @Flag(help: "Only the newest sample of each device.")
    var last = false

    @Option(help: "Means over spans of time, 1s to 1d: 10s, 1m, 1h.")
    var every: String?

    @Option(help: "The most rows.")
    var limit: Int?

    @Flag(help: "How samples are written; a table for people without either.")
    var format: RowFormat = .text

    func run() throws {
        if let limit, limit < 0 { throw CommandFailure("--limit takes a number from 0") }
        let detail = try detail()
        let now = Moment.now().wall
        let from = try from.map { try time($0, now: now) }
        let to = try to.map { try time($0, now: now) }
        if let from, let to, from > to { throw CommandFailure("--from \(from) lies after --to \(to)") }
        let reader = try options.reader()
        let catalog = try reader.catalog()
        guard let stream = catalog.stream(named: self.stream) else {
            throw CommandFailure(
                "there is no stream '\(self.stream)'; known are \(catalog.streams.map(\.name).joined(separator: ", "))")
        }
        try check(reader)
        var output = OutputBuffer()
        // Also what was read before an error.
        defer { output.flush() }
        var writer = RowWriter(columns: detail.columns(of: stream), format: format)
        writer.writeHeader(into: &output)
        try reader.query(
            stream: stream, detail: detail, group: group, devices: device, from: from, to: to, limit: limit
        ) { writer.write($0, into: &output) }
    }

    private func detail() throws -> QueryDetail {
        guard let every else { return last ? .last : .samples }
        guard !last else { throw CommandFailure("--last and --every exclude each other: choose one") }
        let length = try span(every)
        guard (1_000_000...86_400_000_000).contains(length) else {
            throw CommandFailure("--every takes a span from 1s to 1d, not '\(every)'")
        }
        return .averages(span: length)
    }

    /// A device that is not there is a mistake, not an empty answer.
    private func check(_ reader: StoreReader) throws {
        guard !device.isEmpty || group != nil else { return }
        let known = try reader.devices().map(\.address)
        if let group { try checkGroup(group, among: known) }
        for device in device where !known.contains(where: { $0.device == device && (group ?? $0.group) == $0.group }) {
            throw CommandFailure("the store knows no device '\(device)'; see 'lockstep devices'")
        }
    }
}
