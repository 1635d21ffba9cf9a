import ArgumentParser
import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepMQTT
import LockstepModel
import LockstepStore

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export samples as CSV, NDJSON, Parquet, GeoJSON, GPX, MCAP, SenML or XDF.",
        discussion: """
            The first argument is a stream such as steps or motion/accelerometer, or:
              track    the positions of the stream location
              motion   motion/device, accelerometer, gyroscope and magnetometer, by time
              steps_refined, attitude_refined, location_refined
                       what 'lockstep refine' has computed (csv, ndjson and parquet; location_refined also geojson and gpx)
              session  all samples of a session of 'lockstep record', whose name follows, on the collector's clock, with its
                       labels, markers and clock bounds: a folder with csv or parquet files, or one file as mcap or xdf

            With --resample, several streams may be given, separated by commas. Each column is named after its device, table and \
            column, such as default/left/accelerometer_x. Numbers lie on the straight line between two samples, attitudes and \
            angles on the shorter way round; words and whole numbers are those of the nearer sample. Gaps stay empty.

            csv, ndjson and mcap contain any of them, parquet one stream. geojson and gpx contain a track. 'lockstep-agent --source replay:FILE' \
            and 'lockstep analyze' read csv, ndjson and mcap of one device again.
            Times: 2026-11-21T09:30:00Z, 2026-11-21T10:30+01:00, µs since 1970, now, or a duration before now such as -5m. \
            With --local, times without a zone are local.

            Without --out, the file is written to standard output. With --out, it appears under its name only when it \
            is complete: an export that fails or is interrupted leaves no file and no part of one.

            The page docs/exports.md describes columns and units.

            EXAMPLES
              lockstep export steps --store sqlite:samples.db --from -1d --out steps.csv
              lockstep export track --store sqlite:samples.db --device left --out walk.gpx
              lockstep export motion --store sqlite:samples.db --device left --out m.mcap
              lockstep export track --store sqlite:samples.db --format gpx | gzip > t.gz
              lockstep export accelerometer,gyroscope --resample 100 --out t.csv
              lockstep export session walk-3 --store sqlite:samples.db --out walk-3
              lockstep export session walk-3 --store sqlite:samples.db --out walk-3.xdf
            """)

    @Argument(help: "Name of a stream or of its table, or track, motion or session.")
    var subject: String

    @Argument(help: "Name or id of the session.")
    var session: String?

    @OptionGroup var options: StoreOptions

    @OptionGroup var selection: SelectionOptions

    @Option(
        help:
            """
            csv, ndjson, geojson, gpx, mcap, senml, senml-cbor, parquet or xdf (default: that of the extension of --out, such as \
            .senmlc; csv without --out or an extension).
            """,
        transform: { try choice($0, of: ExportFormat.self) })
    var format: ExportFormat?

    @Option(
        help: """
            In a track, fixes with at least this interval between them are not connected (default: 5m). With --resample, there \
            are no values between samples farther apart (default: 2.5 times the usual interval of the stream).
            """)
    var gap: String?

    @Option(
        help: ArgumentHelp(
            "One table of all devices with this number of rows per second, on the collector's clock (csv and parquet only).",
            valueName: "hz"))
    var resample: Double?

    @Option(help: "File to write (default: standard output); with csv and parquet, the folder of a session.")
    var out: String?

    @Option(
        help: ArgumentHelp(
            """
            Time line of the samples: device (as stored), or collector; csv, ndjson and parquet then have the column bound_us (default: \
            device; with --resample, collector).
            """))
    var time: TimeReference?

    @Flag(help: "Replace the file of --out if it exists.")
    var force = false

    func run() throws {
        if subject == "session" { return try Self.reportInterruption { try exportSession() } }
        guard session == nil else { throw CommandFailure("'\(session ?? "")': only 'session' is followed by a name") }
        let now = Moment.now().wall
        let (from, to) = try selection.timeRange.rangeOrEmpty(now: now)
        let gap = try gap.map(parseDuration)
        guard gap ?? 1 > 0 else { throw CommandFailure("--gap must be greater than 0") }
        if force, out == nil { throw CommandFailure("--force is only for --out") }
        if let resample { return try exportTable(rate: resample, from: from, to: to, gap: gap) }
        let export = try ExportSelection(
            subject: subject, format: try format ?? Self.format(of: out), from: from, to: to, group: selection.group,
            devices: selection.device, time: time ?? .device, reader: try options.reader())
        let destination = try destination(export.export.format)
        try Self.reportInterruption { try export.run(gap: gap ?? 300_000_000, to: destination) }
    }

    static func reportInterruption(_ body: () throws -> Void) throws {
        do { try body() } catch let interruption as ExportInterruption {
            Terminal.writeError("Error: \(interruption)")
            throw ExitCode(128 + interruption.signal)
        }
    }

    private func exportSession() throws {
        guard let session else { throw CommandFailure("give the name of the session: lockstep export session NAME") }
        guard selection.device.isEmpty, selection.timeRange.from == nil, selection.timeRange.to == nil, gap == nil,
            resample == nil, time != .device
        else {
            throw CommandFailure(
                "a session has its own devices, times and rates, on the collector's clock: leave out --device, --from, --to, "
                    + "--gap, --resample and --time device")
        }
        guard let out else { throw CommandFailure("give a folder or a file to write: --out PATH") }
        let reader = try options.reader()
        let group = selection.group
        let found = try reader.sessions().filter { (group ?? $0.key.group) == $0.key.group }.only(session)
        let export = try SessionExport(found, in: reader, now: Moment.now().wall)
        let format = try format ?? Self.format(of: out)
        guard [.csv, .mcap, .parquet, .xdf].contains(format) else {
            throw CommandFailure("a session can be exported as csv, mcap, parquet or xdf, not as \(format.rawValue)")
        }
        if format == .csv || format == .parquet { return try export.writeFolder(out, format, replaces: force) }
        try export.write(format, to: ExportFile(path: out, replaces: force))
    }

    /// Returns the format of a file by its extension; csv without an extension.
    /// - Throws: ``CommandFailure`` for an extension of another or of several formats.
    static func format(of path: String?) throws -> ExportFormat {
        let name = path?.split(separator: "/").last ?? ""
        // Those of devices, such as /dev/stdout, have no extension.
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return .csv }
        let suffix = name[name.index(after: dot)...].lowercased()
        if suffix == "senmlc" { return .senmlCBOR }
        if suffix == "jsonl" { return .ndjson }
        if let format = ExportFormat(rawValue: suffix) { return format }
        throw CommandFailure(
            "the extension '.\(suffix)' of --out is not that of a format: use --format with one of "
                + ExportFormat.allCases.map(\.rawValue).joined(separator: ", "))
    }

    func destination(_ format: ExportFormat) throws -> ExportDestination {
        if let out { return .file(try ExportFile(path: out, replaces: force)) }
        if format.isBinary, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure("\(format.rawValue) is not text: use --out FILE, or redirect standard output")
        }
        return .standardOutput
    }
}

extension ExportCommand {
    /// Writes one table of all selected devices and streams on one clock, at one rate.
    /// - Throws: ``CommandFailure``, ``ExportInterruption`` or `StoreError`. Then no file is left.
    func exportTable(rate: Double, from: Timestamp?, to: Timestamp?, gap: Int64?) throws {
        guard (0.001...10_000).contains(rate) else {
            throw CommandFailure("--resample must be from 0.001 to 10000 rows per second")
        }
        let format = try format ?? Self.format(of: out)
        guard format == .csv || format == .parquet else {
            throw CommandFailure("--resample is only for csv and parquet")
        }
        let reader = try options.reader()
        let catalog = try reader.catalog()
        let streams = try subject.split(separator: ",").flatMap { name in
            name == "motion" ? ExportSubject.motion.streams : [try catalog.knownStream(String(name), or: ["motion"])]
        }
        let devices = try ExportSelection.devices(selection.device, selection.group, reader)
        let isCollectorTime = time != .device
        let clock = isCollectorTime ? try CollectorTime(of: devices, from: from, to: to, in: reader) : nil
        let stored = try streams.flatMap { stream in
            try reader.timeRanges(of: stream, devices: devices, from: nil, to: nil).map { device, range in
                clock?.limits(of: range, of: device) ?? range
            }
        }
        let start = [from, stored.map(\.lowerBound).min()].compactMap(\.self).max()
        let end = [to, stored.map(\.upperBound).max().map { $0 + 1 }].compactMap(\.self).min()
        let nothing = CommandFailure(
            "no samples of '\(subject)' of \(counted(devices.count, "device")) in this time range")
        guard let start, let end, start < end else { throw nothing }
        let table = try ResampledExport(
            streams, of: devices, rate: rate, range: start..<end, isCollectorTime: isCollectorTime, gap: gap, in: reader
        )
        guard !table.columns.isEmpty else { throw nothing }
        let writer: any RowWriter =
            format == .csv
            ? CSVWriter(columns: table.columns, hasDevice: false)
            : ParquetWriter(columns: table.columns, hasDevice: false, creator: "lockstep \(lockstepVersion)")
        let destination = try destination(format)
        try Self.reportInterruption {
            try destination.receive(counted(devices.count, "device"), clock: clock) { write, update in
                let rows = try table.run(in: reader, writer: writer, write: write, update: update)
                guard rows > 0 else { throw nothing }
                return counted(rows, "row")
            }
        }
    }
}
