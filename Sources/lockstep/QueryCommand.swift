import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Samples of one stream, by device and time.",
        discussion: """
            Streams: \(SensorStream.all.map(\.name).joined(separator: ", ")); a table's name does as well.
            Times: 2026-11-21T09:30:00Z, µs since 1970, now, or a span before now such as -5m.

            EXAMPLES
              lockstep query steps --store sqlite:samples.db --from -1h
              lockstep query accelerometer --store sqlite:samples.db --device left --csv > left.csv
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

    @Option(help: "The most samples.")
    var limit: Int?

    @Flag(help: "How samples are written; a table for people without either.")
    var format: RowFormat = .text

    func run() throws {
        guard let stream = SensorStream.named(self.stream) else {
            throw CommandFailure(
                "there is no stream '\(self.stream)'; known are \(SensorStream.all.map(\.name).joined(separator: ", "))"
            )
        }
        if let limit, limit < 0 { throw CommandFailure("--limit takes a number from 0") }
        let now = Moment.now().wall
        let from = try from.map { try time($0, now: now) }
        let to = try to.map { try time($0, now: now) }
        if let from, let to, from > to { throw CommandFailure("--from \(from) lies after --to \(to)") }
        let reader = try options.reader()
        try check(reader)
        var output = OutputBuffer()
        // Also what was read before an error.
        defer { output.flush() }
        var writer = RowWriter(stream: stream, format: format)
        writer.writeHeader(into: &output)
        try reader.query(stream: stream, group: group, devices: device, from: from, to: to, limit: limit) {
            writer.write($0, into: &output)
        }
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
