import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepRules
import LockstepSensors
import LockstepStore

struct RulesTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Show what rules would have notified in the past; nothing is sent.",
        usage: "lockstep rules test <file> [--store <store>] [<options>]",
        discussion: """
            The samples count as received at once, so that no event is late. Rules on health are not evaluated, because \
            the past has no figures for them.
            """)

    @OptionGroup var options: RuleFileOptions
    @OptionGroup var storeOptions: StoreOptions

    @Option(help: "Recording instead of a store: replay:FILE.")
    var source: String?

    @Option(help: "Device of the recording (default: default/replay).", transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @OptionGroup var timeRange: TimeRangeOptions

    @Flag(help: "Output format.")
    var format: RowFormat = .text

    func run() throws {
        let now = Moment.now().wall
        let (from, to) = try timeRange.rangeOrEmpty(now: now)
        let events = try source.map { try replay($0) } ?? read(from: from, to: to, now: now)
        let lines = EventQuery.lines(events.map { (nil, $0, nil) }, format)
        Terminal.output.write(lines.map { $0 + "\n" }.joined())
    }

    private func read(from: Timestamp?, to: Timestamp?, now: Timestamp) throws -> [RuleEvent] {
        let reader = try storeOptions.reader()
        let catalog = try reader.catalog()
        let end = min(to ?? now, now)
        var rehearsal = Rehearsal(try options.rules(catalog))
        for stream in catalog.streams where rehearsal.needs(stream) {
            var block = SampleBlock(stream: stream)
            var owner: DeviceAddress?
            try reader.query(
                stream: stream, detail: .samples, group: nil, devices: [], from: from, to: to, limit: nil
            ) { row in
                if row.device != owner || block.count >= 10_000 {
                    if let owner { rehearsal.add(block, of: owner) }
                    block = SampleBlock(stream: stream)
                    owner = row.device
                }
                block.append(time: row.time, values: row.values)
            }
            if let owner { rehearsal.add(block, of: owner) }
        }
        for device in try reader.devices().map(\.address) {
            let transitions = try reader.transitions(of: device, from: from, to: to, limit: .max, cancellation: nil)
            rehearsal.add(transitions, of: device, end: end)
        }
        return rehearsal.events(until: end)
    }

    private func replay(_ text: String) throws -> [RuleEvent] {
        guard text.hasPrefix("replay:") else {
            throw CommandFailure("'\(text)' is not a recording: write it as replay:FILE")
        }
        let settings = try Settings(of: [StreamSection.self], file: storeOptions.file.config, ignoresUnknownKeys: true)
        let source = try ReplaySource(
            file: String(text.dropFirst(7)), speed: .maximum, stamping: .own, streams: settings.streams)
        let fallback = DeviceAddress(group: .standard, device: try DeviceID(validating: "replay"))
        let address = device?.address ?? fallback
        let sink = RehearsalSink(Rehearsal(try options.rules(settings.streams)), address)
        try sink.run(source)
        if let warning = sink.warning { Terminal.writeError("\(source.file): \(warning)") }
        return sink.events
    }
}
