/// The names that declared columns cannot have, because payloads, tables, views or query output already use them.
let reservedColumnNames: Set<String> = [
    // Keys of a batch.
    "v", "epoch", "seq", "live", "t", "dt",
    // Columns of tables and views.
    "device_id", "group_name", "device", "time",
    // Columns of query output.
    "group", "samples",
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
