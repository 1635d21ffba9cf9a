import LockstepModel

/// Reads a recording row by row. Owns the file descriptor.
struct RecordingReader: ~Copyable {
    let layout: RecordingLayout
    /// The time of the last row in the file, in µs.
    let lastTime: Int64

    private var lines: LineReader
    private var previous: Int64?

    private init(layout: RecordingLayout, lastTime: Int64, lines: consuming LineReader) {
        self.layout = layout
        self.lastTime = lastTime
        self.lines = lines
    }

    /// Opens `file` and reads its header and its last row.
    /// - Parameter extras: The headers of additional columns to read.
    /// - Throws: ``ReplayError`` if the file cannot be read, or its header or last row is malformed.
    static func open(
        _ file: String, extras: [String] = [], streams: StreamCatalog = .builtIn
    ) throws(ReplayError) -> RecordingReader {
        var lines = try LineReader(file: file)
        guard let header = try lines.next() else {
            throw ReplayError(file: file, line: nil, reason: "the file is empty")
        }
        let layout = try RecordingLayout(
            header: String(decoding: header, as: UTF8.self), file: file, extras: extras, streams: streams)
        guard try !lines.isAtEnd(), let last = try lines.last() else {
            throw ReplayError(file: file, line: nil, reason: "no rows after the header")
        }
        do {
            return RecordingReader(layout: layout, lastTime: try layout.time(ofRow: last), lines: lines)
        } catch {
            throw ReplayError(file: file, line: nil, reason: "the last line is incomplete: \(error.reason)")
        }
    }

    /// Returns the next row; nil after the last.
    /// - Throws: ``ReplayError`` with the number of the malformed line.
    mutating func next() throws(ReplayError) -> RecordingRow? {
        guard let line = try lines.next() else { return nil }
        // Blank lines are accepted only at the end of the file.
        if line.allSatisfy({ $0 <= UInt8(ascii: " ") }), try lines.isAtEnd() { return nil }
        let row: RecordingRow
        do {
            row = try layout.row(line)
        } catch {
            throw ReplayError(file: lines.file, line: lines.line, reason: error.reason)
        }
        if let previous, row.time < previous {
            throw ReplayError(
                file: lines.file, line: lines.line, reason: "time goes backward, from \(previous) to \(row.time) µs")
        }
        previous = row.time
        return row
    }
}
