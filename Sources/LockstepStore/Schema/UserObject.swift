import LockstepSQLite

/// An index or a trigger of a user on a table of the store. SQLite drops it together with the table.
struct UserObject {
    let name: String
    let isTrigger: Bool
    /// The statement that creates it.
    let sql: String

    /// Returns the indexes and triggers of a table.
    static func all(of table: String, in database: SQLiteDatabase) throws(SQLiteError) -> [UserObject] {
        let select = try database.prepare(
            """
            SELECT name, type = 'trigger', sql FROM sqlite_schema
            WHERE tbl_name = ? AND type IN ('index', 'trigger') AND sql IS NOT NULL
            """)
        try select.bind(table, at: 1)
        var objects: [UserObject] = []
        while try select.step() {
            guard let name = select.text(at: 0), let sql = select.text(at: 2) else { continue }
            objects.append(UserObject(name: name, isTrigger: select.int64(at: 1) != 0, sql: sql))
        }
        return objects
    }

    /// The columns after `UPDATE OF`.
    var updatedColumns: [String] {
        let tokens = SQLToken.all(of: sql)
        let keywords = tokens.map(\.keyword)
        // The keywords after BEGIN belong to statements.
        let head = keywords.prefix { $0 != "begin" }
        guard let of = head.indices.first(where: { $0 > 0 && head[$0] == "of" && head[$0 - 1] == "update" }) else {
            return []
        }
        return tokens[(of + 1)...].prefix { $0.keyword != "on" }.filter { $0.text != "," }.map(\.name)
    }
}
