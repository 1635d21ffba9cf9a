import LockstepModel

/// How the columns of a stream stand in a batch as this program writes it: ``CanonicalScanner`` goes by it.
///
/// Made once a stream. Its parts count no references: a message of one sample spends more on those than on its digits.
final class CanonicalPattern: Sendable {
    /// One column.
    struct Column {
        enum Form { case real, integer, word }

        /// Where what stands before its values, `,"x":[`, is among the names.
        let name: Range<Int>
        let form: Form
        let isRequired: Bool
    }

    let columns: [Column]
    /// What stands before the values of the columns, one after the other.
    let names: [UInt8]
    /// The words of each column that has words; none of the others.
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
