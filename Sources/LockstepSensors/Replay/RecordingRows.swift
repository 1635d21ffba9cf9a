import LockstepModel

/// Reads the rows of a recording as fields with names, from each form of file: CSV, NDJSON, GPX or MCAP.
struct RecordingRows: ~Copyable {
    enum Form {
        case csv(separator: UInt8)
        case ndjson
        case gpx
        case mcap
    }

    let form: Form
    /// The names of the fields.
    let names: [String]
    /// The names of the streams in the objects of NDJSON, or in MCAP.
    private let namedStreams: [String]
    private var lines: LineReader
    private var points = GPXPoints()
    /// The rows of MCAP; nil in other forms.
    private var messages: MCAPRows?
    /// The number of the first message of the row of MCAP that was read last.
    private var message = 0

    private init(
        _ form: Form, names: [String], streams: [String] = [], lines: consuming LineReader,
        messages: consuming MCAPRows? = nil
    ) {
        self.form = form
        self.messages = messages
        namedStreams = streams
        self.names = names
        self.lines = lines
    }

    var file: String { lines.file }
    /// The number of the line that was read last, or of the first message of the row of MCAP.
    var line: Int { isMCAP ? message : lines.line }
    var isMCAP: Bool { if case .mcap = form { true } else { false } }
    /// The number of points of GPX without a time so far, which are no rows.
    var untimedPoints: Int { points.untimed }
    /// The number of the line of the first of them.
    private(set) var untimedLine: Int?
    /// The byte between the fields of ``next()``, if they are those of CSV.
    var separator: UInt8 { if case .csv(let separator) = form { separator } else { UInt8(ascii: ",") } }

    /// Opens a file and finds out its form and the names of its fields.
    /// - Parameter streams: The streams that the file can contain.
    static func open(_ file: String, streams: StreamCatalog) throws(ReplayError) -> RecordingRows {
        var lines = try LineReader(file: file)
        let start = try lines.start(16)
        for (mark, name) in [("PAR1", "Parquet"), ("XDF:", "XDF"), ("SQLite format 3", "an SQLite database")]
        where start.starts(with: mark.utf8) {
            throw ReplayError(
                file: file, line: nil,
                reason:
                    "the file is \(name), which cannot be read: use 'lockstep export' with --format csv, ndjson or mcap"
            )
        }
        if start.starts(with: MCAPFile.magic) {
            let messages = try MCAPRows.open(file, streams: streams)
            let (names, streamNames) = (messages.names, messages.streams)
            return RecordingRows(.mcap, names: names, streams: streamNames, lines: lines, messages: messages)
        }
        switch start.first(where: { !isBlank($0) && !byteOrderMark.contains($0) }) {
        case UInt8(ascii: "{"):
            let (names, streams) = try NDJSONFields.names(of: file)
            return RecordingRows(.ndjson, names: names, streams: streams, lines: lines)
        case UInt8(ascii: "<"):
            return RecordingRows(
                .gpx, names: GPXPoints.names, lines: try LineReader(file: file, delimiter: UInt8(ascii: ">")))
        default:
            guard let header = try lines.next() else {
                throw ReplayError(file: file, line: nil, reason: "the file is empty")
            }
            let (names, separator) = RecordingLayout.names(of: String(decoding: header, as: UTF8.self))
            return RecordingRows(.csv(separator: separator), names: names, lines: lines)
        }
    }

    /// Returns the names of the streams in the file, if it says them: those of all rows of NDJSON, and that of the first row
    /// of CSV.
    func streamNames() throws(ReplayError) -> [String] {
        guard case .csv = form,
            let field = RecordingLayout.streamField(
                Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first }))
        else { return namedStreams }
        var lines = try LineReader(file: file)
        _ = try lines.next()
        guard let line = try lines.next(), let fields = try? fields(of: line) else { return [] }
        return [String(decoding: fields[field], as: UTF8.self).unquoted()]
    }

    /// Returns the fields of the next row; nil after the last.
    mutating func next() throws(ReplayError) -> [ArraySlice<UInt8>]? {
        if isMCAP {
            let row = try messages?.next()
            message = row?.message ?? message
            return row?.fields
        }
        guard case .gpx = form else {
            guard let line = try lines.next() else { return nil }
            // Blank lines are accepted only at the end of the file.
            if line.allSatisfy(isBlank), try lines.isAtEnd() { return nil }
            do throws(RowError) { return try fields(of: line) } catch { throw failure(error) }
        }
        while let piece = try lines.next() {
            do throws(RowError) {
                let fields = try points.add(piece)
                if points.untimed > 0, untimedLine == nil { untimedLine = line }
                if let fields { return fields }
            } catch {
                throw failure(error)
            }
        }
        guard points.hasTrack else {
            throw ReplayError(file: file, line: nil, reason: "the file is no GPX with the points of a track")
        }
        guard points.hasTime else {
            throw ReplayError(
                file: file, line: nil,
                reason: "no point has a time: only a recorded track can be replayed, not a planned one")
        }
        return nil
    }

    private func failure(_ error: RowError) -> ReplayError { failure(error.reason, line: line) }

    /// Returns an error of a line, or of a message of MCAP, which has no lines.
    func failure(_ reason: String, line: Int) -> ReplayError {
        isMCAP
            ? ReplayError(file: file, line: nil, reason: "message \(line): \(reason)")
            : ReplayError(file: file, line: line, reason: reason)
    }

    /// Returns the fields of the last row, without changing the position of ``next()``; nil if there are no rows.
    /// - Throws: ``ReplayError`` if the last row is incomplete.
    mutating func last() throws(ReplayError) -> [ArraySlice<UInt8>]? {
        if isMCAP { return messages?.last }
        if case .gpx = form {
            var all = try Self.open(file, streams: .builtIn)
            var last: [ArraySlice<UInt8>]?
            while let fields = try all.next() { last = fields }
            return last
        }
        if case .csv = form, try lines.isAtEnd() { return nil }
        guard let line = try lines.last() else { return nil }
        do throws(RowError) { return try fields(of: line) } catch {
            throw ReplayError(file: file, line: nil, reason: "the last line is incomplete: \(error.reason)")
        }
    }

    private func fields(of line: ArraySlice<UInt8>) throws(RowError) -> [ArraySlice<UInt8>] {
        guard case .csv(let separator) = form else { return try NDJSONFields.fields(of: line, names) }
        let fields = line.split(separator: separator, omittingEmptySubsequences: false)
        guard fields.count == names.count else {
            throw RowError("the header has \(names.count) fields, this line has \(fields.count)")
        }
        return fields
    }
}

private let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

/// The objects of NDJSON as rows with fields.
///
/// The columns of an object with a member `stream` get names as in a CSV export of several streams, such as
/// `accelerometer_x`.
enum NDJSONFields {
    /// The members of an export that are no columns.
    private static let common: Set = ["group", "device", "stream", "t", "time"]

    static func names(of file: String) throws(ReplayError) -> (fields: [String], streams: [String]) {
        var lines = try LineReader(file: file)
        var names: [String] = []
        var known: Set<String> = []
        var streams: [String] = []
        while let line = try lines.next() {
            if line.allSatisfy(isBlank), try lines.isAtEnd() { break }
            do throws(RowError) {
                let (members, stream) = try members(of: line)
                for name in members.keys.sorted() where known.insert(name).inserted { names.append(name) }
                if let stream, !streams.contains(stream) { streams.append(stream) }
            } catch {
                // A line that is damaged is refused when its row is read, after those before it.
                guard lines.line == 1 else { break }
                throw ReplayError(file: file, line: 1, reason: error.reason)
            }
        }
        return (names, streams)
    }

    /// Returns the fields of an object; those that it does not have are empty.
    static func fields(of line: ArraySlice<UInt8>, _ names: [String]) throws(RowError) -> [ArraySlice<UInt8>] {
        let members = try members(of: line).members
        return names.map { field(members[$0]) }
    }

    /// Returns the field of a value; empty if it is none or no plain value.
    static func field(_ value: JSONValue?) -> ArraySlice<UInt8> {
        switch value {
        case .integer(let number)?: ArraySlice(number.description.utf8)
        case .real(let number)?: ArraySlice(number.description.utf8)
        case .string(let text)?: ArraySlice(text.utf8)
        case .bool(let value)?: ArraySlice((value ? "true" : "false").utf8)
        default: []
        }
    }

    /// Parses a value. A member that is NaN or infinite is a text.
    static func parse(_ text: ArraySlice<UInt8>) throws(JSONError) -> JSONValue {
        var options = JSONParser.Options()
        options.acceptsNotFinite = true
        return try JSONParser.parse(Array(text), options).value
    }

    private static func members(
        of line: ArraySlice<UInt8>
    ) throws(RowError) -> (members: [String: JSONValue], stream: String?) {
        let value: JSONValue
        do { value = try parse(line) } catch { throw RowError("no JSON object: \(error)") }
        guard case .object(let members) = value else { throw RowError("no JSON object") }
        guard let stream = members["stream"]?.string else { return (members, nil) }
        let table = RecordingLayout.table(of: stream)
        var named: [String: JSONValue] = [:]
        for (name, value) in members where name != "stream" {
            named[common.contains(name) ? name : "\(table)_\(name)"] = value
        }
        return (named, stream)
    }
}
