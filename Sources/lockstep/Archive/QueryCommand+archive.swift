import LockstepCommandLine
import LockstepModel
import LockstepStore

extension QueryCommand {
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
