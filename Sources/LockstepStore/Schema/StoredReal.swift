import LockstepModel
import LockstepSQLite

/// The form of real numbers in the logs and in tables of merged rows: a number with up to six decimals is stored as an
/// integer, in millionths.
///
/// SQLite stores such an integer in one to six bytes and a real number in eight, and measured values rarely have more
/// decimals.
enum StoredReal {
    static let scale = 1e6

    /// Returns `value` in millionths, or nil if that would not restore it exactly.
    static func millionths(_ value: Double) -> Int64? { value.exactInteger(scaledBy: scale) }

    /// Returns the number that is stored as `millionths`.
    static func value(_ millionths: Int64) -> Double { Double(millionths) / scale }

    /// Returns the SQL expression of the number that `column` stores.
    static func valueSQL(_ column: String) -> String {
        "CASE typeof(\(column)) WHEN 'integer' THEN \(column) / 1e6 ELSE \(column) END"
    }
}

extension SQLiteStatement {
    /// Binds a real number in its stored form. NaN becomes NULL.
    func bind(stored value: Double, at index: Int) throws(SQLiteError) {
        if let number = StoredReal.millionths(value) {
            try bind(number, at: index)
        } else {
            try bind(value, at: index)
        }
    }
}

extension SensorStream.Kind {
    /// The number by which integers in the stored form of a column are divided.
    var divisor: Double { self == .real ? StoredReal.scale : 1 }

    /// Reads a value from a column of the current row that may have the stored form of a real number. A column with the
    /// type `REAL` never returns an integer.
    func readStored(_ statement: SQLiteStatement, at column: Int) -> Double {
        if case .real = self, statement.isInteger(at: column) { return StoredReal.value(statement.int64(at: column)) }
        return read(statement, at: column)
    }
}
