import ArgumentParser
import FoundationEssentials
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct ArchiveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive", abstract: "Write old samples into files, and delete them from the store if asked.",
        usage: "lockstep archive --before <time> --to <folder> [<options>]",
        discussion: """
            Each file has the samples of one stream of one device in one month (UTC), as CSV compressed with gzip: \
            FOLDER/GROUP/DEVICE/TABLE/2026-08.csv.gz. Only months that have ended before the limit are written. \
            FOLDER/manifest.csv lists the files with their number of samples, times and SHA-256. Each file is read back \
            before it counts. A month whose file has as many samples as the store is not written again, and one whose \
            file has more keeps its file.

            With --delete, the samples are then deleted as 'lockstep delete' does: those of an archived month that \
            arrive later are not stored. 'lockstep query --archive FOLDER' reads both the store and the archive.

            EXAMPLES
              lockstep archive --before 90d --to archive
              lockstep archive --before 90d --to archive --stream accelerometer --delete
            """)

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup var store: Options<StoreSettings>

    @Option(help: "Only samples before this time, or older than this duration, such as 90d.")
    var before: String

    @Option(help: "Folder of the archive.", completion: .directory)
    var to: String

    @Option(
        help: "Only this device, as [GROUP/]DEVICE; without a group, in any group. May be repeated.",
        transform: DeviceArgument.init(parsing:))
    var device: [DeviceArgument] = []

    @Option(help: "Only this stream, by its name or that of its table. May be repeated.")
    var stream: [String] = []

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Delete what is archived from the store.")
    var delete = false

    func run() throws {
        let settings = try connection.settings(including: [StoreSettings.self])
        guard let address = try settings.value(store.store)?.with(password: store.password.read(settings)) else {
            throw CommandFailure("no store specified: use --store sqlite:PATH, or set LOCKSTEP_STORE")
        }
        let now = Moment.now().wall
        guard let end = ArchiveMonth.end(before: try limit(now: now).microseconds) else {
            throw CommandFailure("--before \(before) is too far away")
        }
        let reader = try address.reader()
        let known = try reader.devices().map(\.address)
        let devices = device.isEmpty ? Set(known) : try device.addresses(among: known)
        let streams = try streams(in: reader.catalog())
        let exists = FileManager.default.fileExists(atPath: to + "/manifest.csv")
        var run = ArchiveRun(
            files: ArchiveFiles(folder: to), reader: reader,
            manifest: exists ? try ArchiveManifest(folder: to) : .init(),
            end: end)
        var deleted: Int64 = 0
        for device in devices.sorted() {
            for stream in streams {
                guard let range = try run.archive(stream, of: device, always: delete), delete else { continue }
                let deletion = Deletion(
                    id: "\(Epoch.random())", device: device, stream: stream.name, times: range.times, at: now,
                    who: DeletionRun.user, reason: "archived to \(to)")
                // What arrived meanwhile is not in the files.
                let stored = try reader.preview(of: deletion).reduce(0) { $0 + $1.count }
                guard stored == range.samples else {
                    throw CommandFailure(
                        "samples of \(stream) of \(device) have arrived while they were archived, so nothing of it was "
                            + "deleted: repeat the command")
                }
                let count = try DeletionRun(deletion, samples: stored, reader: reader).run(
                    on: address, connection, settings)
                guard count == stored else {
                    throw CommandFailure(
                        "\(count) samples of \(stream) of \(device) were deleted, and \(stored) are in the archive")
                }
                deleted += count
            }
        }
        Terminal.output.write(
            "\(to): \(counted(Int64(run.written), "file")) written with \(counted(run.samples, "sample")), "
                + "\(run.kept) unchanged" + (delete ? ", \(counted(deleted, "sample")) deleted from the store" : "")
                + "\n")
        for note in run.notes { Terminal.writeError(note) }
    }

    private func limit(now: Timestamp) throws -> Timestamp {
        if let duration = try? parseDuration(before) { return now - duration }
        return try time(before, now: now)
    }

    private func streams(in catalog: StreamCatalog) throws -> [SensorStream] {
        guard !stream.isEmpty else { return catalog.streams }
        return try stream.map { try catalog.knownStream($0) }
    }
}

/// Writes the months of streams.
struct ArchiveRun {
    let files: ArchiveFiles
    let reader: StoreReader
    var manifest: ArchiveManifest
    /// The end of the last month, in µs since 1970.
    let end: Int64
    private(set) var written = 0
    private(set) var kept = 0
    /// The samples that were written.
    private(set) var samples: Int64 = 0
    /// What the user should know.
    private(set) var notes: [String] = []

    init(files: ArchiveFiles, reader: StoreReader, manifest: ArchiveManifest, end: Int64) {
        self.files = files
        self.reader = reader
        self.manifest = manifest
        self.end = end
    }

    /// Writes all months of a stream of a device, unless their files are complete.
    /// - Parameter always: whether to write the files of the months that are complete again, which compares them.
    /// - Returns: the times and samples of the store that are in the archive, or nil if there are none.
    mutating func archive(
        _ stream: SensorStream, of device: DeviceAddress, always: Bool
    ) throws -> (times: Range<Int64>, samples: Int64)? {
        var archived: (times: Range<Int64>, samples: Int64)?
        var next: Timestamp?
        while let first = try reader.firstTime(of: stream, device, from: next, to: Timestamp(microseconds: end)),
            let month = ArchiveMonth(containing: first.microseconds)
        {
            next = Timestamp(microseconds: month.times.upperBound)
            let file = "\(device)/\(stream.table)/\(month.name).csv.gz"
            let stored = try count(stream, device, month.times)
            if let known = manifest.entries[file] {
                guard known.samples <= stored else {
                    notes.append(
                        "\(files.folder)/\(file) has \(known.samples) samples, and the store only \(stored): the file is kept"
                            + (always ? ", and the month not deleted from the store" : ""))
                    // What is deleted is one range.
                    if always, archived != nil { break }
                    continue
                }
                if known.samples == stored, !always {
                    kept += 1
                    continue
                }
            }
            let entry = ArchiveEntry(file: file, device: device, stream: stream.name, times: month.times)
            guard let new = try files.write(entry, of: stream, from: reader) else { continue }
            manifest.add(new)
            // After each file: an archive that is interrupted has what its list says.
            try manifest.write(to: files.folder)
            written += 1
            samples += new.samples
            archived = (
                (archived?.times.lowerBound ?? month.times.lowerBound)..<month.times.upperBound,
                (archived?.samples ?? 0) + new.samples
            )
        }
        return archived
    }

    private func count(_ stream: SensorStream, _ device: DeviceAddress, _ times: Range<Int64>) throws -> Int64 {
        let month = Deletion(
            id: "", device: device, stream: stream.name, times: times, at: Timestamp(microseconds: 0))
        return try reader.preview(of: month).reduce(0) { $0 + $1.count }
    }
}
