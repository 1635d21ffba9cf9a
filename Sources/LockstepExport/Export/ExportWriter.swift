public import LockstepStore

/// A writer of the samples of several streams in one file format. It holds no samples, so its memory does not grow with
/// their number.
///
/// Call ``begin(into:)`` once. For each set of devices, call ``write(_:stream:into:)`` for each sample in order of time,
/// then ``endPass(into:)``, and repeat both while it returns true. Call ``end(into:)`` once. Write the buffer when it
/// ``OutputBuffer/isFull``.
public protocol ExportWriter: Sendable {
    /// Writes what precedes the samples.
    mutating func begin(into output: inout OutputBuffer)
    /// Writes one sample.
    /// - Parameter stream: the index of its stream.
    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer)
    /// Ends a pass over the samples of a set of devices.
    /// - Returns: whether the writer needs the same samples again.
    mutating func endPass(into output: inout OutputBuffer) -> Bool
    /// Writes what follows the samples.
    mutating func end(into output: inout OutputBuffer)
}

/// An export of the rows of one stream.
public struct RowExport: ExportWriter {
    private var rows: any RowWriter

    /// Creates an export with a writer of rows.
    public init(rows: any RowWriter) { self.rows = rows }

    public mutating func begin(into output: inout OutputBuffer) { rows.begin(into: &output) }
    public mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        rows.write(row, into: &output)
    }
    public mutating func endPass(into output: inout OutputBuffer) -> Bool { false }
    public mutating func end(into output: inout OutputBuffer) { rows.end(into: &output) }
}
