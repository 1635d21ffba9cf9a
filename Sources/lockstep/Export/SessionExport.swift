import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepWire

/// The export of a session into files.
struct SessionExport {
    private let samples: SessionSamples
    private let reader: StoreReader
    private let now: Timestamp

    /// - Parameter now: the end of a session that has none.
    /// - Throws: ``CommandFailure`` if there is nothing to export; `StoreError`.
    init(_ session: RecordingSession, in reader: StoreReader, now: Timestamp) throws {
        self.reader = reader
        self.now = now
        do { samples = try SessionSamples(session, in: reader, now: now) } catch let error as SessionSamples.Nothing {
            throw CommandFailure(error.description)
        }
    }

    /// Writes all of the session into one file.
    func write(_ format: ExportFormat, to file: ExportFile) throws {
        try write(samples.subject, format, to: file)
    }

    /// Writes one file.
    /// - Returns: whether there are samples.
    @discardableResult
    private func write(
        _ subject: ExportSubject, _ format: ExportFormat, to file: ExportFile, isPart: Bool = false
    ) throws -> Bool {
        let selection = try ExportSelection(
            samples.export(subject, format), of: samples.session.addresses, in: reader)
        guard !selection.isEmpty else { return false }
        return try selection.run(gap: 1, to: .file(file), isPart: isPart)
    }

    /// Writes a folder with a file for each stream, the markers as CSV, and the session itself. It appears under its name only
    /// when it is complete.
    func writeFolder(_ path: String, _ format: ExportFormat, replaces: Bool) throws {
        guard !replaces else { throw CommandFailure("--force is not for folders: remove \(path), or use another name") }
        var status = stat()
        guard stat(path, &status) != 0 else { throw CommandFailure("\(path) exists: use another name") }
        let part = "\(path).part"
        guard mkdir(part, 0o777) == 0 else {
            throw CommandFailure("cannot create \(part): \(String(cString: strerror(errno)))")
        }
        var names: [String] = []
        do {
            for stream in samples.streams {
                let name = "\(stream.table).\(format.rawValue)"
                // The nearest samples of a slow stream may be before the start or after the end.
                let file = try ExportFile(path: "\(part)/\(name)", replaces: false)
                if try write(.stream(stream), format, to: file, isPart: true) { names.append(name) }
            }
            // Those of streams without an asked rate, too.
            var session = samples.session
            session.rates = [:]
            let json = SessionJSON.encodeWithKey(
                samples.session, streams: try session.series(in: reader, now: now))
            for (name, text) in [
                ("markers.csv", markerCSV(samples.session.markers)),
                ("session.json", String(decoding: json, as: UTF8.self) + "\n"),
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
