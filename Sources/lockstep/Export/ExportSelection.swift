import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

/// The devices, samples and format that the options of `lockstep export` select.
struct ExportSelection {
    let export: SampleExport
    private let reader: any MergeReading
    /// The selected devices with samples, each with the times of its oldest and newest sample.
    private let ranges: [DeviceAddress: ClosedRange<Timestamp>]

    /// Looks up the selected samples.
    /// - Throws: ``CommandFailure`` if a name is unknown or nothing is selected; `StoreError`.
    init(
        subject name: String, format: ExportFormat, from: Timestamp?, to: Timestamp?, group: GroupID?,
        devices arguments: [DeviceArgument], time: TimeReference, reader: StoreReader
    ) throws {
        guard format != .xdf else {
            throw CommandFailure("xdf contains a session: use 'lockstep export session NAME'")
        }
        let kind = RefinedKind(view: name)
        let subject = try kind.map { .stream($0.stream) } ?? Self.subject(name, in: reader.catalog())
        if let kind, !format.hasColumns, kind != .location || !format.needsPositions {
            throw CommandFailure(
                "\(name) can be exported as csv, ndjson\(kind == .location ? ", geojson, gpx" : "") or parquet, not as \(format)"
            )
        }
        if kind != nil, time == .collector { throw CommandFailure("--time collector is not for '\(name)'") }
        guard subject.formats.contains(format) else {
            throw CommandFailure(
                (format == .parquet
                    ? "parquet contains one stream, and \(name) has several: use --resample, or one of "
                    : "\(format) contains positions, and \(name) has none: use 'lockstep export track', or one of ")
                    + subject.formats.map(\.rawValue).joined(separator: ", "))
        }
        self.reader = kind.map { RefinedExportReader($0, in: reader) } ?? reader
        let devices = try Self.devices(arguments, group, reader)
        let collectorTime =
            time == .collector ? try CollectorTime(of: devices, from: from, to: to, in: reader) : nil
        export = SampleExport(subject, format: format, from: from, to: to, collectorTime: collectorTime)
        ranges = try export.timeRanges(of: devices, in: self.reader)
        if ranges.isEmpty { throw Self.nothing(name, devices, export, self.reader) }
        if let most = export.maxDevices, ranges.count > most {
            throw CommandFailure(
                "a \(format) file can contain \(most) devices, and \(ranges.count) are selected: use --device or --group"
            )
        }
    }

    /// Selects what an export contains, which may be nothing.
    init(_ export: SampleExport, of devices: [DeviceAddress], in reader: StoreReader) throws {
        self.export = export
        self.reader = reader
        ranges = try export.timeRanges(of: devices, in: reader)
    }

    /// Whether there are no samples.
    var isEmpty: Bool { ranges.isEmpty }

    private static func subject(_ name: String, in catalog: StreamCatalog) throws -> ExportSubject {
        // A declared stream or table cannot have these names, because declared names begin with x/.
        switch name {
        case "track": return .track
        case "motion": return .motion
        default: break
        }
        return .stream(
            try catalog.knownStream(name, or: ["track", "motion"] + RefinedKind.allCases.map(\.view)))
    }

    static func devices(
        _ arguments: [DeviceArgument], _ group: GroupID?, _ reader: StoreReader
    ) throws -> [DeviceAddress] {
        let known = try reader.devices().map(\.address)
        if let group { try checkGroup(group, among: known) }
        guard !arguments.isEmpty else {
            guard !known.isEmpty else { throw CommandFailure("the store has no devices yet") }
            return known.filter { $0.group == group ?? $0.group }
        }
        return try arguments.addresses(in: group, among: known).sorted()
    }

    /// Returns the error for a selection without samples. It names the range of samples that exist.
    private static func nothing(
        _ name: String, _ devices: [DeviceAddress], _ export: SampleExport, _ reader: any MergeReading
    ) -> CommandFailure {
        let of = devices.count == 1 ? "\(devices[0])" : counted(devices.count, "device")
        let stored = (try? export.storedTimeRanges(of: devices, in: reader)) ?? [:]
        let limits = [
            export.from.map { "from \($0.shown(decimals: 6))" }, export.to.map { "to \($0.shown(decimals: 6))" },
        ].compactMap(\.self)
        return CommandFailure(
            absence(of: name, of, in: limits.joined(separator: " "), stored: Array(stored.values)))
    }

    /// Reads the samples and writes the file.
    /// - Parameter isPart: whether the file is one of several, so that nothing is printed, and there may be no samples.
    /// - Returns: whether there is a file.
    /// - Throws: ``CommandFailure``, ``ExportInterruption`` or `StoreError`. Then no file is left.
    @discardableResult
    func run(gap: Int64, to destination: ExportDestination, isPart: Bool = false) throws -> Bool {
        let devices = counted(ranges.count, "device")
        return try destination.receive(devices, clock: export.collectorTime, isPart: isPart) { write, update in
            let samples = try export.run(
                ranges: ranges, in: reader, gap: gap, creator: "lockstep \(lockstepVersion)", write: write,
                update: update)
            if isPart, samples == 0 { return nil }
            guard samples > 0 else {
                throw CommandFailure("no sample has a position: the receivers had no fix in this time range")
            }
            return counted(samples, "sample")
        }
    }
}

/// The end of an export by a signal.
struct ExportInterruption: Error, CustomStringConvertible {
    let signal: Int32
    var description: String { "interrupted: no file was written" }
}
