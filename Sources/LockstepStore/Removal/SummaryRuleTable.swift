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
        let recorded = try read(in: database)
        if options.isCollector {
            let rules = options.retention.summaryRules
            let ages = Dictionary(rules.texts.map { ($0.pattern, $0.age) }, uniquingKeysWith: { $1 })
            // Only then: a store whose disk is full must open.
            if ages != recorded { try record(rules, in: database) }
            return rules
        }
        do {
            return try KeepRules(recorded.map { (pattern: try StreamPattern($0.key, streams: streams), age: $0.value) })
        } catch let error as KeepRuleError {
            throw StoreError(.other, "the rules of --keep-summaries in the store are not known: \(error)")
        }
    }

    /// Returns the recorded ages by pattern.
    private static func read(in database: SQLiteDatabase) throws -> [String: Int64?] {
        guard try StoreSchema.storedSQL(of: "_summary_rules", in: database) != nil else { return [:] }
        let select = try database.prepare("SELECT pattern, age FROM _summary_rules")
        var ages: [String: Int64?] = [:]
        while try select.step() { ages.updateValue(select.optionalInt64(at: 1), forKey: select.text(at: 0) ?? "") }
        return ages
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
