import LockstepModel
import LockstepSQLite

/// The migration of `merged_devices` from schema 8, which stored the values themselves.
///
/// Columns, indexes and triggers of users are kept. If one of them cannot work with the new table, the migration fails
/// with advice, and the store remains as it was.
enum DeviceMigration {
    /// The columns of schema 8.
    private static let columns = [
        "device_id", "group_name", "device", "first_seen", "last_seen", "last_t", "samples", "duplicates", "conflicts",
        "state", "since", "previous", "reason", "state_seq", "session", "phase", "rests_on", "session_epoch",
    ]

    /// - Throws: ``StoreError`` if a column or trigger of a user does not fit, or `SQLiteError`.
    static func shorten(in database: SQLiteDatabase) throws {
        // Without this, renaming a table would also rename it in views and references.
        try database.execute("PRAGMA legacy_alter_table = ON")
        defer { try? database.execute("PRAGMA legacy_alter_table = OFF") }
        let objects = try UserObject.all(of: "merged_devices", in: database)
        try database.execute("ALTER TABLE merged_devices RENAME TO old_merged_devices; \(DeviceSchema.create)")
        let computed = try values(
            "name", "FROM pragma_table_xinfo('merged_devices') WHERE hidden = 2", in: database)
        for trigger in objects where trigger.isTrigger {
            let columns = trigger.updatedColumns.filter { computed.contains($0.lowercased()) }
            if !columns.isEmpty {
                throw error(of: trigger, "names \(columns.joined(separator: ", "))", in: database)
            }
        }
        // While the table is empty, each definition is valid that was valid when the user added the column.
        let own = try addOwnColumns(in: database)
        func list(_ prefix: String) -> String { own.map { ", \(prefix)\($0)" }.joined() }
        let start = "(ifnull(ifnull(old.since, old.first_seen), \(DeviceSchema.reference)))"
        func after(_ column: String) -> String { "old.\(column) - \(start)" }
        try database.execute(
            """
            INSERT INTO merged_devices (
                device_id, group_name, device, origin, first_seen_after, last_seen_after, since_after, state_code,
                previous_code, reason_code, state_seq, session_after, phase_code, rests_on_after, session_epoch_code,
                last_t_after, samples, duplicates, conflicts\(list("")))
            SELECT old.device_id, old.group_name, old.device, \(start) - \(DeviceSchema.reference),
                \(after("first_seen")), old.last_seen - ifnull(old.first_seen, \(start)), \(after("since")),
                \(code("old.state")), \(code("old.previous")), \(code("old.reason")), old.state_seq, \(after("session")),
                \(code("old.phase")), \(after("rests_on")), old.session_epoch, \(after("last_t")),
                old.samples, old.duplicates, old.conflicts\(list("old."))
            FROM old_merged_devices AS old ORDER BY old.device_id;
            DROP TABLE old_merged_devices;
            """)
        for object in objects {
            try database.execute(object.sql)
            guard object.isTrigger else { continue }
            // SQLite compiles a trigger together with the statements that fire it.
            do { _ = try DeviceTable(in: database) } catch {
                throw self.error(of: object, "fails (\(error.message))", in: database)
            }
        }
    }

    private static func error(of trigger: UserObject, _ fault: String, in database: SQLiteDatabase) -> StoreError {
        StoreError(
            .schema,
            "cannot upgrade \(database.path): your trigger \(trigger.name) on merged_devices \(fault), but columns such as "
                + "state and since are computed from state_code and since_after now: drop the trigger with sqlite3, start "
                + "the collector, and create the trigger again with the columns that are stored")
    }

    /// Adds the columns that users have added to the old table.
    /// - Returns: Their names in quotes, without generated columns.
    private static func addOwnColumns(in database: SQLiteDatabase) throws -> [String] {
        let known = columns.map { "'\($0)'" }.joined(separator: ", ")
        let own = "FROM pragma_table_xinfo('old_merged_devices') AS own WHERE own.name COLLATE NOCASE NOT IN (\(known))"
        let taken = try values(
            "own.name",
            "\(own) AND own.name COLLATE NOCASE IN (SELECT name FROM pragma_table_xinfo('merged_devices'))",
            in: database)
        if let name = taken.first {
            throw StoreError(
                .schema,
                "cannot upgrade \(database.path): your column \(name) of merged_devices has the name of a new column: rename "
                    + "it first with sqlite3: ALTER TABLE merged_devices RENAME COLUMN \(quoted(name)) TO "
                    + quoted("my_\(name)"))
        }
        let table = try values("sql", "FROM sqlite_schema WHERE name = 'old_merged_devices'", in: database)
        let definitions = SQLToken.columnDefinitions(inTable: table.first ?? "")
        for name in try values("own.name", own, in: database) {
            try database.execute("ALTER TABLE merged_devices ADD COLUMN \(definitions[name] ?? quoted(name))")
        }
        return try values("own.name", "\(own) AND own.hidden = 0", in: database).map(quoted)
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    private static func values(
        _ column: String, _ source: String, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [String] {
        let select = try database.prepare("SELECT \(column) \(source)")
        var values: [String] = []
        while try select.step() { if let value = select.text(at: 0) { values.append(value) } }
        return values
    }

    /// Returns the SQL expression of the code of a word.
    private static func code(_ word: String) -> String {
        let cases = DeviceSchema.words.enumerated().map { "WHEN '\($1)' THEN \($0)" }.joined(separator: " ")
        return "CASE \(word) \(cases) ELSE \(word) END"
    }
}
