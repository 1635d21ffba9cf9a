import LockstepModel
import LockstepSQLite

/// The table `_summary_rules`: the rules of `--keep-summaries` of the last collector. A program that changes the store without these
/// rules, such as `lockstep delete`, needs them for samples that have waited and expired meanwhile: their minutes may have summaries.
///
/// It is created when a collector first has such rules.
enum SummaryRuleTable {
    private static let definition = """
        CREATE TABLE IF NOT EXISTS _summary_rules (
            -- Which summaries of minutes outlive their samples, by the collector that was started last.
            pattern TEXT PRIMARY KEY, -- STREAM or GROUP/DEVICE/STREAM
            age INTEGER -- in µs; NULL for summaries that are kept forever
        ) WITHOUT ROWID
        """

    /// Returns the rules that count: those of the collector, which are recorded, or the recorded ones.
    /// - Parameter streams: the names of all streams.
    /// - Throws: ``StoreError`` if the recorded rules are not those of this version.
    static func rules(
        _ options: SQLiteStore.Options, _ streams: [String], in database: SQLiteDatabase
    ) throws -> KeepRules {
        let exists = try StoreSchema.storedSQL(of: "_summary_rules", in: database) != nil
        if options.isCollector {
            if exists || !options.retention.summaryRules.isEmpty {
                try record(options.retention.summaryRules, in: database)
            }
            return options.retention.summaryRules
        }
        guard exists else { return .everything }
        let select = try database.prepare("SELECT pattern, age FROM _summary_rules")
        var rules: [(pattern: StreamPattern, age: Int64?)] = []
        do {
            while try select.step() {
                let pattern = try StreamPattern(select.text(at: 0) ?? "", streams: streams)
                rules.append((pattern, select.optionalInt64(at: 1)))
            }
            return try KeepRules(rules)
        } catch let error as KeepRuleError {
            throw StoreError(.other, "the rules of --keep-summaries in the store are not known: \(error)")
        }
    }

    private static func record(_ rules: KeepRules, in database: SQLiteDatabase) throws {
        try database.transaction {
            try database.execute(definition)
            try database.execute("DELETE FROM _summary_rules")
            let insert = try database.prepare("INSERT INTO _summary_rules VALUES (?, ?)")
            for rule in rules.texts {
                try insert.bind(rule.pattern, at: 1)
                if let age = rule.age { try insert.bind(age, at: 2) } else { try insert.bindNull(at: 2) }
                try insert.run()
            }
        }
    }
}
