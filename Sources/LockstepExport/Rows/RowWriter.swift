public import LockstepStore

/// A writer of rows in one format. It holds no rows, so its memory does not grow with their number.
///
/// Call ``begin(into:)`` once, ``write(_:into:)`` for each row, and ``end(into:)`` once. Write the buffer when it
/// ``OutputBuffer/isFull``.
public protocol RowWriter: Sendable {
    /// Writes what precedes the rows, such as a header.
    mutating func begin(into output: inout OutputBuffer)
    /// Writes one row. Its values are in the order of the columns.
    mutating func write(_ row: SampleRow, into output: inout OutputBuffer)
    /// Writes what follows the rows.
    mutating func end(into output: inout OutputBuffer)
}
