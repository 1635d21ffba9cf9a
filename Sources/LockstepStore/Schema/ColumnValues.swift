import LockstepModel
import LockstepSQLite

// Conversion between values in memory, which are always `Double`, and values in a table.
extension SensorStream.Kind {
    /// The SQL type of the column.
    var sqlType: String {
        switch self {
        case .real: "REAL"
        case .integer: "INTEGER"
        case .choice: "TEXT"
        }
    }

    /// Returns `value` as a table would return it: integers are rounded, and invalid values become NaN, which is null.
    func normalized(_ value: Double) -> Double {
        switch self {
        case .real: value
        case .integer: value.magnitude <= largestInteger ? value.rounded() : .nan
        case .choice(let words): Int(exactly: value).map(words.indices.contains) == true ? value : .nan
        }
    }

    /// Binds `value` to a parameter of `statement`.
    func bind(_ value: Double, to statement: SQLiteStatement, at index: Int) throws(SQLiteError) {
        switch self {
        case .real: try statement.bind(value, at: index)
        case .integer:
            let whole = normalized(value)
            if whole.isNaN { try statement.bindNull(at: index) } else { try statement.bind(Int64(whole), at: index) }
        case .choice(let words):
            let choice = normalized(value)
            if choice.isNaN {
                try statement.bindNull(at: index)
            } else {
                try statement.bind(words[Int(choice)], at: index)
            }
        }
    }

    /// Reads a value from a column of the current row.
    func read(_ statement: SQLiteStatement, at column: Int) -> Double {
        switch self {
        case .real, .integer: statement.double(at: column)
        case .choice(let words):
            statement.text(at: column).flatMap(words.firstIndex).map(Double.init) ?? .nan
        }
    }

    /// Returns `value` as JSON: a number, a string or null.
    func json(_ value: Double) -> String {
        let stored = normalized(value)
        guard stored.isFinite else { return "null" }
        return switch self {
        case .real: "\(stored)"
        case .integer: "\(Int64(stored))"
        case .choice(let words):
            "\"\(words[Int(stored)].escaping(["\\": "\\\\", "\"": "\\\""]))\""
        }
    }
}

extension SensorStream {
    /// Returns the values of a sample as a JSON object: `{"x":0.5,"y":null,"z":-1.0}`.
    package func json(_ values: [Double]) -> String {
        let members = zip(columns, values).map { column, value in "\"\(column.name)\":\(column.kind.json(value))" }
        return "{" + members.joined(separator: ",") + "}"
    }
}

/// The largest magnitude of a whole number, as in payloads: 2⁵³ − 1.
private let largestInteger = 9_007_199_254_740_991.0
