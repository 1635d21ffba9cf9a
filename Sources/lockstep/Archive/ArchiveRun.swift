import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Writes the months of streams into an archive.
struct ArchiveRun {
    let files: ArchiveFiles
    let reader: StoreReader
    var manifest: ArchiveManifest
    /// The end of the last month, in µs since 1970.
    let end: Int64
    /// Whether what is archived will be deleted: then all files are written again, which compares them.
    let isDeleting: Bool
    private(set) var written = 0
    private(set) var kept = 0
    private(set) var samples: Int64 = 0
    /// What the user should know.
    private(set) var notes: [String] = []

    init(_ files: ArchiveFiles, _ reader: StoreReader, _ manifest: ArchiveManifest, end: Int64, isDeleting: Bool) {
        self.files = files
        self.reader = reader
        self.manifest = manifest
        self.end = end
        self.isDeleting = isDeleting
    }

    /// Writes all months of a stream of a device, unless their files are complete, and its conflicts.
    /// - Parameter refuse: lets the store refuse samples of some times from now on. If samples will be deleted, this is called
    ///   before they are read, so that none arrives that is not in the files.
    /// - Returns: the times and samples of the store that are in the archive, or nil if there are none.
    mutating func archive(
        _ stream: SensorStream, of device: DeviceAddress, refuse: (Range<Int64>) throws -> Void
    ) throws -> (times: Range<Int64>, samples: Int64)? {
        let months = try months(of: stream, device)
        var archived: (times: Range<Int64>, samples: Int64)?
        if let first = months.first, let last = months.last {
            let times = first.times.lowerBound..<last.times.upperBound
            if isDeleting {
                // What can fail comes first: the store would refuse late samples of months that stay.
                for month in months where manifest.entries[file(stream, device, month)] == nil {
                    _ = try write(month, of: stream, device)
                }
                try refuse(times)
            }
            archived = (times, 0)
        }
        for month in months {
            guard let new = try write(month, of: stream, device) else { continue }
            written += 1
            samples += new.samples
            archived?.samples += new.samples
        }
        let conflicts = try reader.conflicts(of: device, to: Timestamp(microseconds: end))
            .filter { $0.stream == stream.name }
        for (month, conflicts) in Dictionary(
            grouping: conflicts, by: { ArchiveMonth(containing: $0.time.microseconds) })
        {
            guard let month else { continue }
            // In a folder of their own: whoever reads all files of a table reads samples.
            let entry = ArchiveEntry(
                file: "\(device)/conflicts/\(stream.table)-\(month.name).csv.gz", device: device, stream: "conflicts",
                times: month.times)
            guard manifest.entries[entry.file]?.samples ?? 0 < conflicts.count else { continue }
            if let new = try files.write(entry, conflicts) {
                try add(new)
                written += 1
            }
        }
        return archived
    }

    /// Whether samples from the end of the last month to the limit stay in the store only.
    func remains(of stream: SensorStream, _ device: DeviceAddress, before limit: Timestamp) throws -> Bool {
        try reader.firstTime(of: stream, device, from: Timestamp(microseconds: end), to: limit) != nil
    }

    /// Returns the months to write. Those to delete are one range.
    private mutating func months(of stream: SensorStream, _ device: DeviceAddress) throws -> [ArchiveMonth] {
        var months: [ArchiveMonth] = []
        var next: Timestamp?
        while let first = try reader.firstTime(of: stream, device, from: next, to: Timestamp(microseconds: end)),
            let month = ArchiveMonth(containing: first.microseconds)
        {
            next = Timestamp(microseconds: month.times.upperBound)
            let stored = try count(stream, device, month.times)
            let file = file(stream, device, month)
            let known = manifest.entries[file]?.samples ?? 0
            if known > stored {
                notes.append(
                    "\(files.folder)/\(file) has \(known) samples, and the store only \(stored): the file is kept"
                        + (isDeleting ? ", and the month not deleted from the store" : ""))
                if isDeleting, !months.isEmpty { break }
            } else if known < stored || isDeleting {
                months.append(month)
            } else {
                kept += 1
            }
        }
        return months
    }

    /// Writes the file of a month. It never replaces one with more samples.
    private mutating func write(
        _ month: ArchiveMonth, of stream: SensorStream, _ device: DeviceAddress
    ) throws -> ArchiveEntry? {
        let entry = ArchiveEntry(
            file: file(stream, device, month), device: device, stream: stream.name, times: month.times)
        let known = manifest.entries[entry.file]?.samples ?? 0
        guard let new = try files.write(entry, of: stream, from: reader, atLeast: known) else { return nil }
        try add(new)
        return new
    }

    /// Adds a file to the list, after each file: an archive that is interrupted has what its list says.
    private mutating func add(_ entry: ArchiveEntry) throws {
        manifest.add(entry)
        try manifest.write(to: files.folder)
    }

    private func file(_ stream: SensorStream, _ device: DeviceAddress, _ month: ArchiveMonth) -> String {
        "\(device)/\(stream.table)/\(month.name).csv.gz"
    }

    func count(_ stream: SensorStream, _ device: DeviceAddress, _ times: Range<Int64>) throws -> Int64 {
        let month = Deletion(
            id: "", device: device, stream: stream.name, times: times, at: Timestamp(microseconds: 0))
        return try reader.preview(of: month, withSummaries: false).reduce(0) { $0 + $1.count }
    }
}
