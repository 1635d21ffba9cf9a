import LockstepModel

/// The canonical JSON layout of a stream's columns, which ``CanonicalScanner`` uses to read batches quickly.
///
/// There is one pattern per stream. Its parts contain no references: in a message with a single sample, reference
/// counting would take longer than parsing the digits.
final class CanonicalPattern: Sendable {
    /// The layout of one column.
    struct Column {
        enum Form { case real, integer, word }

        /// The range of the column's prefix, such as `,"x":[`, within ``CanonicalPattern/names``.
        let name: Range<Int>
        let form: Form
        let isRequired: Bool
    }

    let columns: [Column]
    /// The prefixes of all columns, concatenated.
    let names: [UInt8]
    /// The words of each `choice` column, and an empty array for every other column.
    let words: [[String]]

    private init(_ stream: SensorStream) {
        var columns: [Column] = []
        var names: [UInt8] = []
        for column in stream.columns {
            let begin = names.count
            names += ",\"\(column.name)\":[".utf8
            let form: Column.Form =
                switch column.kind {
                case .real: .real
                case .integer: .integer
                case .choice: .word
                }
            columns.append(Column(name: begin..<names.count, form: form, isRequired: column.isRequired))
        }
        self.columns = columns
        self.names = names
        words = stream.columns.map { if case .choice(let words) = $0.kind { words } else { [] } }
    }

    /// The pattern of a stream, known or not.
    static func of(_ stream: SensorStream) -> CanonicalPattern { known[stream] ?? CanonicalPattern(stream) }

    private static let known = Dictionary(
        uniqueKeysWithValues: SensorStream.builtIn.map { ($0, CanonicalPattern($0)) })
}
