// Declared streams: streams that a user declares in the settings. Their names start with `x/`.
extension SensorStream {
    /// The prefix of the names of declared streams.
    public static let declaredPrefix = "x/"
    /// The maximum number of columns of a declared stream.
    public static let maxDeclaredColumns = 32
    /// The maximum length of a declared stream's name, in bytes.
    public static let maxDeclaredNameLength = 64

    /// Whether the stream is declared by a user rather than built in.
    public var isDeclared: Bool { name.hasPrefix(Self.declaredPrefix) }

    /// Creates a declared stream. The name of its table is `name` with every `/` replaced by `_`.
    /// - Throws: ``StreamDeclarationError`` if the name or summary is invalid, there are no columns or too many, or two
    ///   columns have the same name.
    public init(
        declaring name: String, summary: String = "", columns: [Column], pausesInBackground: Bool = false
    ) throws(StreamDeclarationError) {
        guard Self.isValidDeclaredName(name) else {
            throw StreamDeclarationError(
                "'\(name.prefix(80))' is not a valid stream name: use x/ followed by up to 4 levels of a-z 0-9 _, such as "
                    + "x/co2 or x/soil/moisture, with at most \(Self.maxDeclaredNameLength) characters")
        }
        guard !columns.isEmpty else {
            throw StreamDeclarationError("the stream has no columns: declare at least one under 'columns'")
        }
        guard columns.count <= Self.maxDeclaredColumns else {
            throw StreamDeclarationError(
                "the stream has \(columns.count) columns: use at most \(Self.maxDeclaredColumns), or declare two streams"
            )
        }
        for (index, column) in columns.enumerated() where columns[..<index].contains(where: { $0.name == column.name })
        {
            throw StreamDeclarationError("the column '\(column.name)' is declared twice: rename or remove one of them")
        }
        try StreamDeclarationError.checkText(summary, maxLength: 200, of: "summary")
        self.init(
            name: name, table: Self.table(ofDeclared: name),
            summary: summary.isEmpty ? "Declared in the settings" : summary, columns: columns,
            pausesInBackground: pausesInBackground, resampling: Self.resampling(ofDeclared: columns))
    }

    /// Returns the resampling of a declared stream.
    ///
    /// If a column is summed, every sample is kept, because a lost sample would change the sum. Otherwise, a low-pass
    /// filter is used if all columns are real numbers, because words and whole numbers cannot be averaged.
    private static func resampling(ofDeclared columns: [Column]) -> Resampling {
        if columns.contains(where: { $0.aggregate == .sum }) { return .everySample }
        return columns.allSatisfy { $0.kind == .real } ? .lowPass : .firstOfInterval
    }

    /// Returns a stream without columns for a valid name below `x/`, or nil for any other name.
    ///
    /// Use it as a placeholder for a stream with an unknown declaration, where only the name matters.
    public static func undeclared(_ name: String) -> SensorStream? {
        guard isValidDeclaredName(name) else { return nil }
        return SensorStream(
            name: name, table: table(ofDeclared: name), summary: "", columns: [], pausesInBackground: false)
    }

    private static func table(ofDeclared name: String) -> String {
        String(name.map { $0 == "/" ? "_" : $0 })
    }

    /// Returns whether `name` is valid. The allowed characters are also valid in topics and in unquoted SQL names.
    private static func isValidDeclaredName(_ name: String) -> Bool {
        guard name.hasPrefix(declaredPrefix), name.utf8.count <= maxDeclaredNameLength else { return false }
        let levels = name.utf8.dropFirst(declaredPrefix.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return levels.count <= 4 && levels.allSatisfy { !$0.isEmpty && $0.allSatisfy(isNameByte) }
    }
}

extension SensorStream.Column {
    /// The maximum length of a declared column's name, in bytes.
    public static let maxDeclaredNameLength = 32
    /// The maximum number of words of a `choice` column.
    public static let maxWords = 100

    /// Creates a column of a declared stream.
    /// - Parameter aggregate: nil for the default: the mean for real numbers, none for other kinds.
    /// - Throws: ``StreamDeclarationError`` if the name is invalid or reserved, the unit, summary or words are invalid, or
    ///   the aggregate does not fit the kind.
    public init(
        declaring name: String, kind: SensorStream.Kind, unit: String = "", isRequired: Bool = true,
        summary: String = "", aggregate: SensorStream.Aggregate? = nil
    ) throws(StreamDeclarationError) {
        let bytes = name.utf8
        guard (1...Self.maxDeclaredNameLength).contains(bytes.count), bytes.allSatisfy(isNameByte),
            let first = bytes.first, first >= UInt8(ascii: "a")
        else {
            throw StreamDeclarationError(
                "'\(name.prefix(80))' is not a valid column name: use a letter a-z followed by a-z 0-9 _, with at most "
                    + "\(Self.maxDeclaredNameLength) characters")
        }
        guard !reservedColumnNames.contains(name) else {
            throw StreamDeclarationError("the column name '\(name)' is reserved by Lockstep: use another name")
        }
        guard !reservedSQLWords.contains(name) else {
            throw StreamDeclarationError("the column name '\(name)' is a reserved word of SQL: use another name")
        }
        try StreamDeclarationError.checkText(unit, maxLength: 32, of: "unit")
        try StreamDeclarationError.checkText(summary, maxLength: 200, of: "summary")
        if case .choice(let words) = kind { try Self.check(words) }
        if let aggregate, aggregate != .none, case .choice = kind {
            throw StreamDeclarationError("a column of kind choice has no mean or sum: use 'aggregate: none'")
        }
        self.init(
            name: name, kind: kind, unit: unit, isRequired: isRequired, summary: summary, aggregate: aggregate)
    }

    private static func check(_ words: [String]) throws(StreamDeclarationError) {
        guard (1...maxWords).contains(words.count) else {
            throw StreamDeclarationError(
                "a column of kind choice needs 1 to \(maxWords) words: list them under 'words'")
        }
        for (index, word) in words.enumerated() {
            guard !word.isEmpty else { throw StreamDeclarationError("a word is empty: remove it from 'words'") }
            try StreamDeclarationError.checkText(word, maxLength: 64, of: "word")
            guard !words[..<index].contains(word) else {
                throw StreamDeclarationError("the word '\(word)' occurs twice in 'words': remove one of them")
            }
        }
    }
}

private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
}

/// The error thrown for an invalid declaration of a stream.
public struct StreamDeclarationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason and what to do, as one sentence.
    public let description: String

    init(_ description: String) { self.description = description }

    /// Checks a text that becomes part of an SQL comment in the schema of a store.
    /// - Throws: ``StreamDeclarationError`` if the text is too long or could end the comment.
    static func checkText(_ text: String, maxLength: Int, of field: String) throws(StreamDeclarationError) {
        guard text.count <= maxLength else {
            throw StreamDeclarationError("the \(field) has \(text.count) characters: use at most \(maxLength)")
        }
        guard !text.unicodeScalars.contains(where: \.isControlOrSeparator), !text.contains("*/") else {
            throw StreamDeclarationError("the \(field) contains a control character, a line break or '*/': remove it")
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isControlOrSeparator: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

/// The names that declared columns cannot have, because payloads, tables, views or query output already use them.
let reservedColumnNames: Set<String> = [
    // Keys of a batch.
    "v", "epoch", "seq", "live", "t", "dt",
    // Columns of tables and views.
    "device_id", "group_name", "device", "time",
    // Columns of query output and exports.
    "group", "samples", "stream",
]

/// The words that SQLite does not accept as a column name without quotes (https://sqlite.org/lang_keywords.html).
let reservedSQLWords: Set<String> = [
    "add", "all", "alter", "and", "as", "autoincrement", "between", "case", "cast", "check", "collate", "commit",
    "constraint",
    "create", "default", "deferrable", "delete", "distinct", "drop", "else", "escape", "except", "exists", "foreign",
    "from", "having", "in", "index", "insert", "intersect", "into", "is", "isnull", "join", "limit", "not", "nothing",
    "notnull", "null", "on", "or", "order", "primary", "references", "returning", "select", "set", "table", "then",
    "to", "transaction", "union", "unique", "update", "using", "values", "when", "where",
    // SQLite accepts these as names, but they have another meaning in expressions.
    "current_date", "current_time", "current_timestamp", "false", "raise", "rowid", "true",
]
