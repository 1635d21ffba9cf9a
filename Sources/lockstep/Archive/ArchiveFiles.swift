import CSodium
import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepTransfer

/// Writes and reads the files of an archive: CSV, compressed with gzip.
struct ArchiveFiles {
    let folder: String

    /// Writes the samples of a month, as `lockstep query --csv` does.
    /// - Parameter known: the number of samples of the file that is replaced.
    /// - Returns: the entry with what was written, or nil if there are no samples.
    func write(
        _ entry: ArchiveEntry, of stream: SensorStream, from reader: StoreReader, atLeast known: Int64
    ) throws -> ArchiveEntry? {
        var writer = CSVWriter(columns: stream.columns.map(ExportColumn.init), stream: stream.name)
        return try write(entry, atLeast: known, begin: { writer.begin(into: &$0) }) { add in
            try reader.query(
                stream: stream, detail: .samples, group: entry.device.group, devices: [entry.device.device],
                from: Timestamp(microseconds: entry.times.lowerBound),
                to: Timestamp(microseconds: entry.times.upperBound), limit: nil
            ) { row in try add(row.time) { writer.write(row, into: &$0) } }
        }
    }

    /// Writes conflicts, in order of time, with the stored and the received values as JSON.
    func write(_ entry: ArchiveEntry, _ conflicts: [DeviceHealth.Conflict]) throws -> ArchiveEntry? {
        try write(entry, begin: { $0.append("group,device,stream,t,stored,received,at\n") }) { add in
            for conflict in conflicts.sorted(by: { $0.time < $1.time }) {
                let values = [conflict.stored, conflict.received].map { "\"" + $0.escaping(["\"": "\"\""]) + "\"" }
                let line =
                    "\(entry.device.group),\(entry.device.device),\(conflict.stream),\(conflict.time.microseconds),"
                    + "\(values[0]),\(values[1]),\(conflict.receivedAt.microseconds)\n"
                try add(conflict.time) { $0.append(line) }
            }
        }
    }

    private func write(
        _ entry: ArchiveEntry, atLeast known: Int64 = 0, begin: (inout OutputBuffer) -> Void,
        _ body: (_ add: (Timestamp, (inout OutputBuffer) -> Void) throws -> Void) throws -> Void
    ) throws -> ArchiveEntry? {
        var entry = entry
        try createFolders(of: entry.file)
        let file = try ExportFile(path: "\(folder)/\(entry.file)", replaces: true)
        defer { file.discard() }
        let gzip = Gzip()
        var (buffer, hash, content) = (OutputBuffer(), SHA256(), SHA256())
        func flush(_ flush: Gzip.Flush = .nothing) throws {
            content.update(buffer.bytes)
            let bytes = gzip.compress(buffer.bytes, flush)
            buffer.removeAll()
            hash.update(bytes)
            entry.bytes += Int64(bytes.count)
            if !bytes.isEmpty { try file.write(bytes) }
        }
        (entry.samples, entry.bytes) = (0, 0)
        begin(&buffer)
        try body { time, append in
            if entry.samples == 0 { entry.first = time.microseconds }
            entry.last = time.microseconds
            entry.samples += 1
            append(&buffer)
            if buffer.isFull { try flush() }
        }
        guard entry.samples > 0 else { return nil }
        guard entry.samples >= known else {
            throw CommandFailure(
                "samples have left the store while \(folder)/\(entry.file) was written, so the file of before is kept: "
                    + "repeat the command")
        }
        try flush(.end)
        entry.hash = hash.digits
        try file.finish()
        // What counts is what can be read again.
        var (lines, readBack): (Int64, SHA256) = (0, SHA256())
        let reader = try ArchiveFileReader(folder: folder, entry)
        while try reader.next({ part in
            readBack.update(part)
            lines += Int64(part.count { $0 == UInt8(ascii: "\n") })
        }) {}
        guard readBack.digits == content.digits, lines == entry.samples + 1 else {
            throw CommandFailure("\(folder)/\(entry.file) is not what was written to it: check the disk")
        }
        return entry
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

/// The SHA-256 of parts of a file.
struct SHA256 {
    private var state = crypto_hash_sha256_state()

    init() { crypto_hash_sha256_init(&state) }

    mutating func update(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count))
    }

    /// The hash as lower-case hexadecimal digits.
    var digits: String {
        var state = state
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256_final(&state, &digest)
        return digest.hexadecimal
    }
}
