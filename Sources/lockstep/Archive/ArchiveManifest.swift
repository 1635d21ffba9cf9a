import FoundationEssentials
import LockstepCommandLine
import LockstepModel

/// A file of an archive: the samples of a stream of a device in a month.
struct ArchiveEntry: Hashable {
    /// The path below the folder of the archive.
    var file: String
    let device: DeviceAddress
    let stream: String
    /// The times of the month, in µs since 1970.
    let times: Range<Int64>
    var samples: Int64 = 0
    /// The times of the first and the last sample, in µs since 1970.
    var first: Int64 = 0
    var last: Int64 = 0
    var bytes: Int64 = 0
    /// The SHA-256 of the file.
    var hash = ""
}

/// The list of the files of an archive, `manifest.csv`.
struct ArchiveManifest {
    private static let header = "file,group,device,stream,from,to,samples,first,last,bytes,sha256"

    /// The files, by their paths.
    private(set) var entries: [String: ArchiveEntry] = [:]

    /// Creates an empty list.
    init() {}

    /// Reads the list of the archive in a folder.
    /// - Throws: ``CommandFailure`` if it is no archive.
    init(folder: String) throws {
        guard let data = try? Data(contentsOf: URL(filePath: folder + "/manifest.csv")) else {
            throw CommandFailure(
                "there is no archive in \(folder): it has no file manifest.csv that this user can read")
        }
        try self.init(text: String(decoding: data, as: UTF8.self))
    }

    init(text: String) throws {
        let lines = text.split(separator: "\n")
        guard lines.first.map(String.init) == Self.header else {
            throw CommandFailure("manifest.csv is not the list of an archive: its first line must be '\(Self.header)'")
        }
        for line in lines.dropFirst() {
            let fields = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 11, let group = try? GroupID(validating: fields[1]),
                let device = try? DeviceID(validating: fields[2]), let from = Int64(fields[4]),
                let to = Int64(fields[5]),
                from < to, let samples = Int64(fields[6]), let first = Int64(fields[7]), let last = Int64(fields[8]),
                let bytes = Int64(fields[9])
            else { throw CommandFailure("manifest.csv has an invalid line: \(line)") }
            add(
                ArchiveEntry(
                    file: fields[0], device: DeviceAddress(group: group, device: device), stream: fields[3],
                    times: from..<to, samples: samples, first: first, last: last, bytes: bytes, hash: fields[10]))
        }
    }

    mutating func add(_ entry: ArchiveEntry) { entries[entry.file] = entry }

    /// Returns the files of a stream of a device with times of a range, in order of time.
    func files(of stream: SensorStream, _ device: DeviceAddress, _ times: Range<Int64>) -> [ArchiveEntry] {
        entries.values.filter { $0.device == device && $0.stream == stream.name && $0.times.overlaps(times) }
            .sorted { $0.times.lowerBound < $1.times.lowerBound }
    }

    var text: String {
        let lines = entries.values.sorted { $0.file < $1.file }.map { entry in
            let fields: [Any] = [
                entry.file, entry.device.group, entry.device.device, entry.stream, entry.times.lowerBound,
                entry.times.upperBound, entry.samples, entry.first, entry.last, entry.bytes, entry.hash,
            ]
            return fields.map { "\($0)" }.joined(separator: ",") + "\n"
        }
        return Self.header + "\n" + lines.joined()
    }

    func write(to folder: String) throws {
        let file = try ExportFile(path: folder + "/manifest.csv", replaces: true)
        defer { file.discard() }
        try file.write(Array(text.utf8))
        try file.finish()
    }
}

struct ArchiveMonth: Hashable {
    /// `2026-08`.
    let name: String
    /// Its times, in µs since 1970.
    let times: Range<Int64>

    /// The month that contains a time, or nil if it is too far away.
    init?(containing time: Int64) {
        guard let start = Self.start(time), let end = Self.start(start.time + 32 * 86_400_000_000) else { return nil }
        name = start.name
        times = start.time..<end.time
    }

    private static func start(_ time: Int64) -> (name: String, time: Int64)? {
        let name = String(Timestamp(microseconds: time).description.prefix(7))
        return Timestamp(name + "-01T00:00:00Z").map { (name, $0.microseconds) }
    }

    /// The first time in µs of the month that contains a time: everything before it is in months that have ended.
    static func end(before time: Int64) -> Int64? { start(time)?.time }
}
