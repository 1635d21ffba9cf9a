import LockstepModel

/// The canonical JSON layout of a stream's columns, which ``CanonicalScanner`` uses to decode batches quickly.
///
/// Columns contain no references, so that reading them needs no reference counting. For a message with a single sample,
/// reference counting would take longer than parsing the digits.
final class CanonicalPattern: Sendable {
    /// The layout of one column.
    struct Column {
        /// The JSON form of the values: a number, a whole number, or a string.
        enum Form { case real, integer, word }

        /// The range of the column's prefix, such as `,"x":[`, within ``CanonicalPattern/prefixes``.
        let prefix: Range<Int>
        let form: Form
        let isRequired: Bool
        let range: ClosedRange<Double>?
    }

    let columns: [Column]
    /// The prefixes of all columns, concatenated.
    let prefixes: [UInt8]
    /// The words of each column, which is an empty array unless the column is a `choice`.
    let words: [[String]]

    private init(_ stream: SensorStream) {
        var columns: [Column] = []
        var prefixes: [UInt8] = []
        for column in stream.columns {
            let begin = prefixes.count
            prefixes += ",\"\(column.name)\":[".utf8
            let form: Column.Form =
                switch column.kind {
                case .real: .real
                case .integer: .integer
                case .choice: .word
                }
            columns.append(
                Column(
                    prefix: begin..<prefixes.count, form: form, isRequired: column.isRequired, range: column.range))
        }
        self.columns = columns
        self.prefixes = prefixes
        words = stream.columns.map { if case .choice(let words) = $0.kind { words } else { [] } }
    }

    /// Returns the pattern of a stream. The patterns of built-in streams are cached.
    static func of(_ stream: SensorStream) -> CanonicalPattern { builtIn[stream] ?? CanonicalPattern(stream) }

    private static let builtIn = Dictionary(
        uniqueKeysWithValues: SensorStream.builtIn.map { ($0, CanonicalPattern($0)) })
}
