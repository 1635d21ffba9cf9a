import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

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
