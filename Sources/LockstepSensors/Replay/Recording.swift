public import LockstepModel

/// A whole recording in memory, for analysis.
public struct Recording: Sendable {
    /// The times of the rows in µs; non-decreasing.
    public let times: [Int64]
    /// What was left out.
    public let skipped: SkippedValues
    /// One block per stream, with the file's times.
    public let blocks: [SampleBlock]

    /// Whether only the magnitude of the acceleration is known.
    public let hasOnlyMagnitude: Bool

    /// The fields of the file; nil if it is not CSV.
    package let csvLayout: RecordingLayout?

    private let extras: [String: [Double]]

    /// Reads a recording from a file.
    /// - Parameters:
    ///   - names: The headers of additional columns to read, such as a reference.
    ///   - isStrict: Whether invalid values and times that go backward are errors instead of left out.
    ///   - format: What the header does not say.
    /// - Throws: ``ReplayError`` at the first error in the file.
    public init(
        file: String, extras names: [String] = [], isStrict: Bool = false, format: RecordingFormat = RecordingFormat()
    ) throws(ReplayError) {
        var reader = try RecordingReader.open(file, extras: names, isStrict: isStrict, format: format)
        var times: [Int64] = []
        var blocks = reader.layout.parts.map { SampleBlock(stream: $0.stream) }
        var extras = names.map { _ in [Double]() }
        while let row = try reader.next() {
            times.append(row.time)
            for (index, values) in row.values.enumerated() {
                guard let values else { continue }
                blocks[index].append(time: Timestamp(microseconds: row.time), values: values)
            }
            for (index, value) in row.extras.enumerated() { extras[index].append(value) }
        }
        skipped = reader.skipped
        csvLayout = reader.isCSV ? reader.layout : nil
        hasOnlyMagnitude = reader.layout.parts.contains { $0.stream == .accelerometer && $0.fillsWithZero }
        self.times = times
        self.blocks = blocks
        var named: [String: [Double]] = [:]
        for (index, name) in names.enumerated() where reader.layout.extraFields[index] != nil {
            named[name] = extras[index]
        }
        self.extras = named
    }

    /// Returns the samples of a stream; nil if the header does not contain the stream.
    public func samples(of stream: SensorStream) -> SampleBlock? { blocks.first { $0.stream == stream } }

    /// Returns an additional column with one value per row, NaN for an empty field; nil if the header does not contain
    /// the column.
    public func column(_ name: String) -> [Double]? { extras[name] }
}

/// What was left out of a recording: values that are no finite numbers, and rows whose time does not fit.
public struct SkippedValues: Sendable, Hashable {
    /// The number of samples and rows that were left out.
    public private(set) var count = 0
    /// The number of the first line, or message of MCAP, with one, from 1.
    public private(set) var line = 0
    /// Why the first one was left out.
    public private(set) var reason = ""
    /// What ``line`` counts: lines, or messages of MCAP.
    let unit: String

    init(unit: String) { self.unit = unit }

    mutating func add(line: Int, reason: String) {
        if count == 0 { (self.line, self.reason) = (line, reason) }
        count += 1
    }
}

extension SkippedValues: CustomStringConvertible {
    /// The count and the first case.
    public var description: String {
        (count == 1 ? "1 sample left out" : "\(count) samples left out, the first") + " in \(unit) \(line): \(reason)"
    }
}

/// The error for a recording that cannot be read.
public struct ReplayError: Error, Hashable, CustomStringConvertible {
    /// The path of the file as given.
    public let file: String
    /// The number of the malformed line, from 1; nil if the error concerns the whole file.
    public let line: Int?
    /// The reason, without file and line.
    public let reason: String

    /// The file, the line if known, and the reason.
    public var description: String {
        line.map { "\(file), line \($0): \(reason)" } ?? "\(file): \(reason)"
    }
}
