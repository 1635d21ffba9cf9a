import LockstepCommandLine
import LockstepExport
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem

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
        let kind = RefinedKind(view: name)
        let subject = try kind.map { .stream($0.stream) } ?? Self.subject(name, in: reader.catalog())
        if kind != nil, format != .csv, format != .ndjson {
            throw CommandFailure("\(name) can be exported as csv or ndjson, not as \(format)")
        }
        if kind != nil, time == .collector { throw CommandFailure("--time collector is not for '\(name)'") }
        guard subject.formats.contains(format) else {
            throw CommandFailure(
                "\(format) contains positions, and \(name) has none: use 'lockstep export track', or one of "
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
        if let stream = catalog.stream(named: name) { return .stream(stream) }
        let names = ["track", "motion"] + catalog.streams.map(\.name) + RefinedKind.allCases.map(\.view)
        let suggestion = Suggestion.text(for: name, among: names + catalog.streams.map(\.table))
        throw CommandFailure(
            "unknown stream '\(name)'\(suggestion); known names: \(names.joined(separator: ", "))")
    }

    private static func devices(
        _ arguments: [DeviceArgument], _ group: GroupID?, _ reader: StoreReader
    ) throws -> [DeviceAddress] {
        let known = try reader.devices().map(\.address)
        if let group { try checkGroup(group, among: known) }
        guard !arguments.isEmpty else {
            guard !known.isEmpty else { throw CommandFailure("the store has no devices yet") }
            return known.filter { $0.group == group ?? $0.group }
        }
        for argument in arguments where !known.contains(where: argument.selects) {
            let names = known.map { argument.group == nil ? $0.device.rawValue : $0.description }
            let suggestion = Suggestion.text(for: argument.description, among: names)
            throw CommandFailure(
                "no device '\(argument)' in the store\(suggestion); list devices with 'lockstep devices'")
        }
        return try arguments.addresses(in: group, among: known).sorted()
    }

    /// Returns the error for a selection without samples. It names the range of samples that exist.
    private static func nothing(
        _ name: String, _ devices: [DeviceAddress], _ export: SampleExport, _ reader: any MergeReading
    ) -> CommandFailure {
        let of = devices.count == 1 ? "\(devices[0])" : counted(devices.count, "device")
        let stored = (try? export.storedTimeRanges(of: devices, in: reader)) ?? [:]
        guard let first = stored.values.map(\.lowerBound).min(), let last = stored.values.map(\.upperBound).max()
        else { return CommandFailure("no samples of '\(name)' are stored for \(of)") }
        let limits = [export.from.map { "from \($0)" }, export.to.map { "to \($0)" }].compactMap(\.self)
        return CommandFailure(
            "no samples of '\(name)' of \(of) \(limits.joined(separator: " ")); stored are those from \(first) to \(last)"
        )
    }

    /// Reads the samples and writes the file.
    /// - Parameter isPart: whether the file is one of several, so that nothing is printed, and there may be no samples.
    /// - Returns: whether there is a file.
    /// - Throws: ``CommandFailure``, ``ExportInterruption`` or `StoreError`. Then no file is left.
    @discardableResult
    func run(gap: Int64, to destination: ExportDestination, isPart: Bool = false) throws -> Bool {
        var progress = ProgressLine(isShown: !destination.isTerminal)
        let start = ContinuousClock.now
        var bytes: Int64 = 0
        let interrupt = destination.interrupt()
        func check() throws {
            if let signal = interrupt?.signal { throw ExportInterruption(signal: signal) }
        }
        let samples: Int
        do {
            defer { progress.end() }
            samples = try export.run(
                ranges: ranges, in: reader, gap: gap, creator: "lockstep \(lockstepVersion)",
                write: { piece in
                    try check()
                    try destination.write(piece)
                    bytes += Int64(piece.count)
                },
                update: { state in
                    try check()
                    progress.show(
                        ExportProgress.line(state, bytes: bytes, elapsed: start.duration(to: .now)))
                })
            if isPart, samples == 0 { return false }
            guard samples > 0 else {
                throw CommandFailure("no sample has a position: the receivers had no fix in this time range")
            }
            try destination.finish()
            TimeReference.warn(export.collectorTime)
        } catch {
            destination.discard()
            throw error
        }
        if case .file(let file) = destination, !isPart {
            Terminal.output.write(
                "\(file.path): \(counted(samples, "sample")) of \(counted(ranges.count, "device")), "
                    + counted(bytes, "byte") + "\n")
        }
        return true
    }
}

/// The end of an export by a signal.
struct ExportInterruption: Error, CustomStringConvertible {
    let signal: Int32
    var description: String { "interrupted: no file was written" }
}
