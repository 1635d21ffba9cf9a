import ArgumentParser
import FoundationEssentials
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepSQLite
import LockstepStore

struct ArchiveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive", abstract: "Write old samples into files, and delete them from the store if asked.",
        usage: "lockstep archive --before <time> --to <folder> [<options>]",
        discussion: """
            Each file has the samples of one stream of one device in one month (UTC), as CSV compressed with gzip: \
            FOLDER/GROUP/DEVICE/TABLE/2026-08.csv.gz. Only months that have ended before the limit are written; if \
            samples between them and the limit remain, this is said. Conflicts of a month are in \
            FOLDER/GROUP/DEVICE/conflicts/TABLE-2026-08.csv.gz. FOLDER/manifest.csv lists the files with their number of samples, times and SHA-256. Each file is read back \
            before it counts. A month whose file has as many samples as the store is not written again, and one whose \
            file has more keeps its file.

            With --delete, the samples are then deleted as 'lockstep delete' does. Before a month is read, the store \
            begins to refuse samples of it, so that none is deleted that is not in a file: those that arrive later \
            are acknowledged, counted and not stored. 'lockstep query --archive FOLDER' reads both the store and the archive.

            EXAMPLES
              lockstep archive --before 90d --to archive
              lockstep archive --before 90d --to archive --stream accelerometer --delete
            """)

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

    @OptionGroup var connection: ConnectionOptions

    func run() throws {
        let settings = try connection.settings(including: [StoreSettings.self])
        let address = try store.address(settings)
        let now = Moment.now().wall
        let limit = try limit(now: now)
        guard let end = ArchiveMonth.end(before: limit.microseconds) else {
            throw CommandFailure("--before \(before) is too far away")
        }
        let reader = try address.reader()
        let known = try reader.devices().map(\.address)
        let devices = device.isEmpty ? Set(known) : try device.addresses(among: known)
        let streams = try streams(in: reader.catalog())
        try FileManager.default.createDirectory(atPath: to, withIntermediateDirectories: true)
        // Two runs would write the list of files of one another.
        let lock = try FileLock(path: to + "/manifest.csv")
        defer { withExtendedLifetime(lock) {} }
        let exists = FileManager.default.fileExists(atPath: to + "/manifest.csv")
        var run = ArchiveRun(
            ArchiveFiles(folder: to), reader, exists ? try ArchiveManifest(folder: to) : .init(), end: end,
            isDeleting: delete)
        var deleted: Int64 = 0
        var remains = false
        for device in devices.sorted() {
            for stream in streams {
                remains = try remains || run.remains(of: stream, device, before: limit)
                func request(_ times: Range<Int64>, samples: Int64, onlyRefuses: Bool) throws -> Int64 {
                    let deletion = Deletion(
                        id: "\(Epoch.random())", device: device, stream: stream.name, times: times, at: now,
                        who: DeletionRun.user, reason: "archived to \(to)", onlyRefuses: onlyRefuses)
                    return try DeletionRun(deletion, samples: samples, reader: reader).run(
                        on: address, connection, settings)
                }
                let archived = try run.archive(stream, of: device) { times in
                    // Unless an earlier, interrupted run has done so.
                    let isRefused = try reader.deletions(of: device).contains { known in
                        known.deletion.covers(stream) && known.deletion.times.lowerBound <= times.lowerBound
                            && known.deletion.times.upperBound >= times.upperBound
                    }
                    if !isRefused { _ = try request(times, samples: 0, onlyRefuses: true) }
                }
                guard let archived, delete else { continue }
                let stored = try run.count(stream, device, archived.times)
                guard stored == archived.samples else {
                    throw CommandFailure(
                        "the store has \(stored) samples of \(stream) of \(device), and the archive "
                            + "\(archived.samples), so nothing of it was deleted: repeat the command")
                }
                deleted += try request(archived.times, samples: stored, onlyRefuses: false)
            }
        }
        let day = Timestamp(microseconds: end).iso8601Seconds.prefix(10)
        Terminal.output.write(
            "\(to): \(counted(Int64(run.written), "file")) written with \(counted(run.samples, "sample")), "
                + "\(run.kept) unchanged" + (delete ? ", \(counted(deleted, "sample")) deleted from the store" : "")
                + "\nTaken: whole months, so everything before \(day). "
                + (remains
                    ? "Not taken: samples from then to \(limit.shown), until their month has ended.\n"
                    : "Nothing else is older than \(limit.shown).\n"))
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
