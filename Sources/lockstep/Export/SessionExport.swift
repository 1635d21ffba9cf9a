import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepWire

/// The export of a session: the samples of all of its devices between its start and its end, on the collector's clock.
struct SessionExport {
    private let session: RecordingSession
    private let reader: StoreReader
    private let start, end: Timestamp
    private let time: CollectorTime
    let streams: [SensorStream]

    /// - Parameter now: the end of a session that has none.
    /// - Throws: ``CommandFailure`` if there is nothing to export; `StoreError`.
    init(_ session: RecordingSession, in reader: StoreReader, now: Timestamp) throws {
        guard let start = session.start, case let end = session.end ?? now, start < end else {
            throw CommandFailure("the session '\(session.key.id)' has no length: it was stopped before its start")
        }
        (self.session, self.reader, self.start, self.end) = (session, reader, start, end)
        let time = try CollectorTime(of: session.addresses, from: start, to: end, in: reader)
        self.time = time
        streams = try reader.catalog().streams.filter { stream in
            try session.addresses.contains { device in
                let range = time.deviceRange(of: device)
                return try !reader.timeRanges(of: stream, devices: [device], from: range.from, to: range.to).isEmpty
            }
        }
        guard !streams.isEmpty else {
            throw CommandFailure("no samples of the session '\(session.key.id)' are stored")
        }
    }

    /// Writes one file.
    /// - Returns: whether there are samples.
    @discardableResult
    func write(
        _ subject: ExportSubject, _ format: ExportFormat, to file: ExportFile, isPart: Bool = false
    ) throws -> Bool {
        let export = SampleExport(subject, format: format, from: start, to: end, collectorTime: time)
        let selection = try ExportSelection(export, of: session.addresses, in: reader)
        guard !selection.isEmpty else { return false }
        return try selection.run(gap: 1, to: .file(file), isPart: isPart)
    }

    /// Writes a folder with a CSV file for each stream, the markers, and the session itself. It appears under its name only
    /// when it is complete.
    func writeFolder(_ path: String, replaces: Bool) throws {
        guard !replaces else { throw CommandFailure("--force is not for folders: remove \(path), or use another name") }
        var status = stat()
        guard stat(path, &status) != 0 else { throw CommandFailure("\(path) exists: use another name") }
        let part = "\(path).part"
        guard mkdir(part, 0o777) == 0 else {
            throw CommandFailure("cannot create \(part): \(String(cString: strerror(errno)))")
        }
        var names: [String] = []
        do {
            for stream in streams {
                let name = "\(stream.table).csv"
                // The nearest samples of a slow stream may be before the start or after the end.
                let file = try ExportFile(path: "\(part)/\(name)", replaces: false)
                if try write(.stream(stream), .csv, to: file, isPart: true) { names.append(name) }
            }
            for (name, text) in [
                ("markers.csv", markerCSV(session.markers)),
                ("session.json", String(decoding: SessionJSON.encodeWithKey(session), as: UTF8.self) + "\n"),
            ] {
                names.append(name)
                let file = try ExportFile(path: "\(part)/\(name)", replaces: false)
                try file.write(Array(text.utf8))
                try file.finish()
            }
            guard rename(part, path) == 0 else {
                throw CommandFailure("cannot rename \(part): \(String(cString: strerror(errno)))")
            }
        } catch {
            for name in names { unlink("\(part)/\(name)") }
            rmdir(part)
            throw error
        }
        Terminal.output.write("\(path): \(names.sorted().joined(separator: ", "))\n")
    }
}
