import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

/// Writes and reads the files of an archive: CSV as of `lockstep query --csv`, compressed with gzip.
struct ArchiveFiles {
    let folder: String

    /// Writes the samples of a month.
    /// - Returns: the entry with what was written, or nil if there are no samples.
    func write(_ entry: ArchiveEntry, of stream: SensorStream, from reader: StoreReader) throws -> ArchiveEntry? {
        var entry = entry
        try createFolders(of: entry.file)
        let file = try ExportFile(path: "\(folder)/\(entry.file)", replaces: true)
        defer { file.discard() }
        let gzip = GzipWriter()
        var (buffer, hash, content) = (OutputBuffer(), SHA256(), SHA256())
        func flush(isLast: Bool = false) throws {
            content.update(buffer.bytes)
            let bytes = gzip.compress(buffer.bytes, isLast: isLast)
            buffer.removeAll()
            hash.update(bytes)
            entry.bytes += Int64(bytes.count)
            if !bytes.isEmpty { try file.write(bytes) }
        }
        (entry.samples, entry.bytes) = (0, 0)
        var writer = CSVWriter(columns: stream.columns.map(ExportColumn.init))
        writer.begin(into: &buffer)
        try reader.query(
            stream: stream, detail: .samples, group: entry.device.group, devices: [entry.device.device],
            from: Timestamp(microseconds: entry.times.lowerBound), to: Timestamp(microseconds: entry.times.upperBound),
            limit: nil
        ) { row in
            if entry.samples == 0 { entry.first = row.time.microseconds }
            entry.last = row.time.microseconds
            entry.samples += 1
            writer.write(row, into: &buffer)
            if buffer.isFull { try flush() }
        }
        guard entry.samples > 0 else { return nil }
        try flush(isLast: true)
        entry.hash = hash.digits
        try file.finish()
        // What counts is what can be read again.
        var (lines, readBack): (Int64, SHA256) = (0, SHA256())
        try read(entry) { part in
            readBack.update(part)
            lines += Int64(part.count { $0 == UInt8(ascii: "\n") })
        }
        guard readBack.digits == content.digits, lines == entry.samples + 1 else {
            throw CommandFailure("\(folder)/\(entry.file) is not what was written to it: check the disk")
        }
        return entry
    }

    /// Calls `body` with the content of a file, part by part.
    /// - Throws: ``CommandFailure`` if it is missing, damaged or not the file of the manifest, or the error of `body`.
    func read(_ entry: ArchiveEntry, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        let reader = try ArchiveFileReader(folder: folder, entry)
        while try reader.next(body) {}
    }

    private func createFolders(of file: String) throws {
        var path = folder
        for part in [""] + file.split(separator: "/").dropLast().map(String.init) {
            if !part.isEmpty { path += "/" + part }
            guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
                throw CommandFailure("cannot create the folder \(path): \(String(cString: strerror(errno)))")
            }
        }
    }
}
