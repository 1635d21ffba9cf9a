import LockstepModel

/// Reads a recording row by row. Owns the file descriptor.
///
/// Recorders lose a clock for a moment, and write NaN for a value that they do not know. Such values, and single rows
/// whose time is earlier than that of the row before or later than those of the rows behind, are left out and counted,
/// unless the reader is strict. Each other error ends the reading.
struct RecordingReader: ~Copyable {
    let layout: RecordingLayout
    /// The time of the last row in the file, in µs.
    let lastTime: Int64
    /// What was left out so far.
    private(set) var skipped: SkippedValues

    /// The number of consecutive rows with a wrong time that are left out. With more, the time has changed, and the
    /// recording is refused. In MCAP, the rows need not be consecutive: its channels may not be in order to each other.
    static let maxWrongTimes = 10

    private let isStrict: Bool
    private var rows: RecordingRows
    /// The rows that were read but not returned, with their lines: at most two.
    private var ahead: [(row: RecordingRow, line: Int)] = []
    /// The error behind ``ahead``.
    private var failure: ReplayError?
    private var previous: Int64?
    private var wrongTimes = 0
    private var untimedPoints = 0
    /// The device of the rows so far.
    private var device: String?

    private init(layout: RecordingLayout, lastTime: Int64, rows: consuming RecordingRows, isStrict: Bool) {
        self.layout = layout
        self.lastTime = lastTime
        skipped = SkippedValues(unit: rows.isMCAP ? "message" : "line")
        self.rows = rows
        self.isStrict = isStrict
    }

    var isCSV: Bool { if case .csv = rows.form { true } else { false } }

    /// Opens `file` and reads its header and its last row.
    /// - Parameters:
    ///   - extras: The headers of additional columns to read.
    ///   - isStrict: Whether invalid values and times that go backward are errors.
    /// - Throws: ``ReplayError`` if the file cannot be read, or its header or last row is malformed.
    static func open(
        _ file: String, extras: [String] = [], streams: StreamCatalog = .builtIn, isStrict: Bool = false,
        format: RecordingFormat = RecordingFormat()
    ) throws(ReplayError) -> RecordingReader {
        var rows = try RecordingRows.open(file, streams: streams)
        let layout = try RecordingLayout(
            names: rows.names, separator: rows.separator, streamNames: try rows.streamNames(), file: file,
            extras: extras, streams: streams, format: format, isMCAP: rows.isMCAP)
        guard let last = try rows.last() else {
            throw ReplayError(file: file, line: nil, reason: "no rows after the header")
        }
        do {
            return RecordingReader(
                layout: layout, lastTime: try layout.time(last[layout.timeField]), rows: rows, isStrict: isStrict)
        } catch {
            throw ReplayError(file: file, line: nil, reason: "the last line is incomplete: \(error.reason)")
        }
    }

    /// Returns the next row; nil after the last.
    /// - Throws: ``ReplayError`` with the number of the malformed line.
    mutating func next() throws(ReplayError) -> RecordingRow? {
        while true {
            fill()
            guard let (row, line) = ahead.first else {
                if let failure { throw failure }
                return nil
            }
            ahead.removeFirst()
            guard let reason = timeProblem(of: row) else {
                if !rows.isMCAP { wrongTimes = 0 }
                previous = row.time
                for reason in row.invalid { skipped.add(line: line, reason: reason) }
                return row
            }
            wrongTimes += 1
            guard !isStrict, wrongTimes <= Self.maxWrongTimes else {
                let advice = isStrict ? "" : " and stays there: split the recording at this line"
                throw rows.failure(rows.isMCAP ? MCAPRows.notInOrder : reason + advice, line: line)
            }
            skipped.add(line: line, reason: reason)
        }
    }

    /// Returns why the time of a row does not fit to the rows around it; nil if it does.
    private func timeProblem(of row: RecordingRow) -> String? {
        if let previous, row.time < previous {
            return "time goes backward, from \(previous) to \(row.time) µs"
        }
        // A wrong time in the future must not make all later rows old.
        guard !isStrict, ahead.count == 2, case let (first, second) = (ahead[0].row.time, ahead[1].row.time),
            first < row.time, first <= second, second < row.time, first >= previous ?? .min
        else { return nil }
        return "time goes forward to \(row.time) µs and back to \(first) µs"
    }

    /// Reads up to the second row after the next one.
    private mutating func fill() {
        do throws(ReplayError) {
            while ahead.count < 3, failure == nil {
                guard let row = try read() else { return }
                ahead.append(row)
            }
        } catch {
            failure = error
        }
    }

    private mutating func read() throws(ReplayError) -> (RecordingRow, Int)? {
        let next = try rows.next()
        while untimedPoints < rows.untimedPoints {
            untimedPoints += 1
            let reason = "a point has no time"
            let line = rows.untimedLine ?? rows.line
            guard !isStrict else { throw rows.failure(reason, line: line) }
            skipped.add(line: line, reason: reason)
        }
        guard let fields = next else { return nil }
        do throws(RowError) {
            let row = try layout.row(fields: fields, isStrict: isStrict)
            if let device, let other = row.device, other != device {
                throw RowError(
                    "the file has samples of several devices, such as \(device) and \(other): export one device")
            }
            device = row.device
            return (row, rows.line)
        } catch {
            throw rows.failure(error.reason, line: rows.line)
        }
    }
}
