import LockstepCommandLine
import LockstepModel
import LockstepStore

extension QueryCommand {
    /// Ends a query when the limit is reached.
    private struct LimitReached: Error {}

    /// Reads what `lockstep refine` has computed.
    /// - Parameter limit: the maximum number of rows, or nil for no limit.
    func printRefined(
        _ kind: RefinedKind, _ selection: (group: GroupID?, devices: [DeviceID]), from: Timestamp?, to: Timestamp?,
        _ reader: StoreReader, limit: Int?, _ each: (SampleRow) -> Void
    ) throws {
        var remainingRows = limit ?? .max
        for device in try Self.devices(of: [selection], reader) where remainingRows > 0 {
            do {
                try reader.refined(kind, of: device, from: from, to: to, newestOnly: last) { time, values in
                    each(SampleRow(device: device, time: time, values: values))
                    remainingRows -= 1
                    if remainingRows <= 0 { throw LimitReached() }
                }
            } catch is LimitReached {}
        }
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
        guard let first = ranges.map(\.lowerBound).min(), let last = ranges.map(\.upperBound).max() else {
            let advice = kind.map { ": run 'lockstep refine \($0.command)' first" } ?? ""
            Terminal.writeError("no samples of '\(stream.name)' are stored for \(subject)\(advice)")
            return
        }
        Terminal.writeError(
            "no samples of '\(stream.name)' of \(subject) in this time range; stored are those from \(first.shown(decimals: 6)) to \(last.shown(decimals: 6))"
        )
    }
}

extension RefinedKind {
    /// The subcommand of `lockstep refine` that computes this kind.
    var command: String { self == .location ? "track" : rawValue }
}
