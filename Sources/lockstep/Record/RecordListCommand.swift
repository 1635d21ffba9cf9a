import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepWire

struct RecordListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions of a store.",
        usage: "lockstep record list [--store <store>] [<options>]")

    @OptionGroup var options: StoreOptions

    @Option(help: "Only sessions of this group.", transform: groupID)
    var group: GroupID?

    @Option(
        help: ArgumentHelp("Only sessions with this label. May be repeated.", valueName: "key=value"),
        transform: sessionLabel)
    var label: [(key: String, value: String)] = []

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print a JSON array with one object per session.")
    var json = false

    func run() throws {
        let sessions = try options.reader().sessions().filter { session in
            (group ?? session.key.group) == session.key.group
                && label.allSatisfy { session.labels[$0.key] == $0.value }
        }
        if json {
            let objects = sessions.map { String(decoding: SessionJSON.encodeWithKey($0), as: UTF8.self) }
            return Terminal.output.write("[" + objects.joined(separator: ",\n ") + "]\n")
        }
        guard !sessions.isEmpty else { return Terminal.output.write("no sessions\n") }
        var table = Table([
            "SESSION", "NAME", "STATE", "START", .right("LENGTH"), .right("DEVICES"), .right("MARKERS"), "LABELS",
        ])
        for session in sessions {
            let labels = session.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let length = session.start.flatMap { start in session.end.map { SessionText.seconds($0 - start) } }
            table.rows.append([
                .init("\(session.key.group)/\(session.key.id)", .bold), .init(Terminal.escaped(session.name)),
                .init(session.state.rawValue, session.state == .incomplete ? .red : .plain),
                .init(session.start?.shown ?? "-"), .init(length ?? "-"), "\(session.devices.count)",
                "\(session.markers.count)", .init(Terminal.escaped(labels.joined(separator: " "))),
            ])
        }
        Terminal.output.write(table.text(for: .output))
    }
}

struct RecordShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a session of a store: its devices, markers, and times without samples.",
        usage: "lockstep record show [--store <store>] <session> [<options>]",
        discussion: """
            A gap is a time without samples of a stream of --rate, of three intervals or more, on the collector's clock. A \
            complete session has gaps if a device was off: everything that it has accepted is stored. The exit status is \
            that of 'lockstep record stop'.
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "Name or id of the session.")
    var session: String

    @Option(help: "Group of the session (default: any).", transform: groupID)
    var group: GroupID?

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print one JSON object, without gaps.")
    var json = false

    func run() throws {
        let reader = try options.reader()
        let session = try reader.sessions().filter { (group ?? $0.key.group) == $0.key.group }.only(self.session)
        if json {
            Terminal.output.write(SessionJSON.encodeWithKey(session) + Array("\n".utf8))
        } else {
            Terminal.output.write(SessionText.summary(session) + SessionText.table(session, for: .output))
            for series in try SessionSeries.read(session, in: reader, now: Moment.now().wall) {
                Terminal.output.write(
                    "\(series.device.device)  \(series.stream.name)  \(counted(series.samples, "sample"))"
                        + (series.gaps.isEmpty ? "\n" : ", \(counted(series.gaps.count, "gap"))\n"))
                for gap in series.gaps.prefix(20) {
                    Terminal.output.write(
                        "  nothing from \(gap.lowerBound.shown(decimals: 3)) to \(gap.upperBound.shown(decimals: 3)), "
                            + "\(SessionText.seconds(gap.upperBound - gap.lowerBound))\n")
                }
            }
            for marker in session.markers {
                let details = [
                    marker.device.map { "device \($0)" }, marker.value.map { "value \($0)" },
                    marker.duration.map { "for " + SessionText.seconds($0) }, "clock \(marker.clock.rawValue)",
                ].compactMap(\.self)
                Terminal.output.write(
                    "\(marker.time.shown(decimals: 3))  \(Terminal.escaped(marker.text))  \(details.joined(separator: ", "))\n"
                )
            }
        }
        if session.exitStatus != 0 { throw ExitCode(session.exitStatus) }
    }
}

/// Finds the times without samples of a stream.
struct GapFinder {
    /// The interval between two samples from which on it is a gap, in µs.
    let limit: Int64
    private var last: Timestamp
    private(set) var samples = 0
    private(set) var gaps: [Range<Timestamp>] = []

    init(from start: Timestamp, limit: Int64) {
        self.limit = limit
        last = start
    }

    /// Adds the next sample.
    mutating func add(_ time: Timestamp) {
        if time - last > limit { gaps.append(last..<time) }
        last = max(last, time)
        samples += 1
    }

    /// Adds the end of the time.
    mutating func end(at end: Timestamp) { if end - last > limit { gaps.append(last..<end) } }
}

/// What is stored of one stream of one device of a session.
struct SessionSeries {
    let device: DeviceAddress
    let stream: SensorStream
    let samples: Int
    /// The times without samples on the collector's clock; nothing for streams without an asked rate.
    let gaps: [Range<Timestamp>]

    /// The number of intervals of the asked rate from which on the time between two samples is a gap, and the shortest gap in
    /// µs.
    private static let intervals = 3.0
    private static let shortest: Int64 = 100_000

    /// Reads the samples of a session.
    /// - Parameter now: the end of a session that has none.
    static func read(_ session: RecordingSession, in reader: StoreReader, now: Timestamp) throws -> [SessionSeries] {
        guard let start = session.start, case let end = session.end ?? now, start < end else { return [] }
        let devices = session.addresses
        var converter = try CollectorTime(of: devices, from: start, to: end, in: reader)
        var result: [SessionSeries] = []
        for stream in try reader.catalog().streams {
            let rate = session.rates[stream.name]
            guard rate != nil || session.rates.isEmpty else { continue }
            let limit = rate.map { max(Self.shortest, Int64(Self.intervals * 1e6 / $0)) } ?? .max
            for device in devices {
                var finder = GapFinder(from: start, limit: limit)
                let range = converter.deviceRange(of: device)
                converter.restart()
                try reader.query(
                    stream: stream, group: device.group, devices: [device.device], from: range.from, to: range.to
                ) { row in
                    if let row = converter.convert(row, columns: stream.columns, appendsBound: false) {
                        finder.add(row.time)
                    }
                }
                finder.end(at: end)
                guard finder.samples > 0 || rate != nil else { continue }
                result.append(
                    SessionSeries(device: device, stream: stream, samples: finder.samples, gaps: finder.gaps))
            }
        }
        return result.sorted { ($0.device, $0.stream.name) < ($1.device, $1.stream.name) }
    }
}
