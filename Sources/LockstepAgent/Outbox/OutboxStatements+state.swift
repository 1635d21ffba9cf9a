import LockstepModel
import LockstepSQLite

/// The state that an outbox reads at the start, and seldom writes.
extension OutboxStatements {
    /// Returns a value of the table `meta`, or 0 if it is missing.
    func meta(_ key: String) throws -> Int64 {
        try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = '\(key)'")
    }

    /// Returns a value of the table `meta`, or nil if it is missing.
    func text(_ key: String) throws -> String? {
        try database.text("SELECT max(value) FROM meta WHERE key = '\(key)'")
    }

    /// Returns the boot id and the clock offset in µs of the last run, or nil if unknown.
    func lastClock() throws -> (bootID: String, offset: Int64)? {
        guard let bootID = try text("boot_id") else { return nil }
        return (bootID, try meta("clock_offset"))
    }

    /// Returns the time of the newest sample of each stream in the current epoch, in µs since 1970.
    /// - Parameter base: the base of the current epoch.
    func newestTimes(since base: Int64) throws -> [String: Int64] {
        let query = try database.prepare(
            """
            SELECT stream, max(time) FROM (
                SELECT stream, time FROM newest UNION ALL SELECT stream, newest FROM entries WHERE id > ?)
            GROUP BY stream
            """)
        try query.bind(base, at: 1)
        var times: [String: Int64] = [:]
        while try query.step() { times[query.text(at: 0) ?? ""] = query.int64(at: 1) }
        return times
    }

    /// Writes the time of the newest sample of each stream, because the rows that have it may be deleted.
    func setNewestTimes(_ times: [String: Int64]) throws {
        let insert = try database.prepare("INSERT OR REPLACE INTO newest (stream, time) VALUES (?, ?)")
        for (stream, time) in times {
            try insert.bind(stream, at: 1)
            try insert.bind(time, at: 2)
            try insert.run()
        }
    }

    /// Removes the times of the epoch that ends.
    func removeNewestTimes() throws { try database.execute("DELETE FROM newest") }

    /// Returns the highest id in the file, or 0 if there is none.
    func lastID() throws -> Int64 { try database.integer("SELECT ifnull(max(id), 0) FROM entries") }

    /// Returns the number of the next batch of the current epoch.
    func nextSeq(base: Int64) throws -> Int64 { 1 + max(try meta("seq"), try lastID() - base) }

    /// Returns the saved numbers of unpublished batches of the current epoch.
    func unpublished() throws -> SequenceSet {
        // The newest batch has the newest set, unless the set was saved after it.
        let saved = try meta("saved")
        let newest = try database.prepare("SELECT id, unpublished FROM entries ORDER BY id DESC LIMIT 1")
        var text = try text("unpublished") ?? ""
        if try newest.step(), newest.int64(at: 0) > saved { text = newest.text(at: 1) ?? "" }
        var batches = SequenceSet()
        for range in text.split(separator: " ") {
            let ends = range.split(separator: "-").compactMap { Int64($0) }
            if let first = ends.first, let last = ends.last, first <= last { batches.insert(first...last) }
        }
        return batches
    }

    // MARK: - Epochs

    /// Returns the ids of all epochs.
    func ids() throws -> BatchIDs {
        let query = try database.prepare("SELECT base, epoch FROM epochs ORDER BY base")
        var ids = BatchIDs()
        while try query.step() {
            ids.begin(try Epoch(validating: query.text(at: 1) ?? ""), base: query.int64(at: 0))
        }
        return ids
    }

    /// Writes an epoch, which replaces an epoch with the same base.
    func setEpoch(_ epoch: Epoch, base: Int64) throws {
        let insert = try database.prepare("INSERT OR REPLACE INTO epochs (base, epoch) VALUES (?, ?)")
        try insert.bind(base, at: 1)
        try insert.bind(epoch.rawValue, at: 2)
        try insert.run()
    }

    /// Removes the earlier epochs that have no batches in the file.
    func removeUnusedEpochs(before base: Int64) throws {
        try database.execute(
            """
            DELETE FROM epochs AS p WHERE base < \(base) AND NOT EXISTS (
                SELECT * FROM entries
                WHERE id > p.base AND id <= (SELECT min(n.base) FROM epochs n WHERE n.base > p.base))
            """)
    }

    /// Writes a new epoch.
    /// - Parameters:
    ///   - base: the highest id given so far.
    ///   - seq: the highest number in the new epoch.
    func beginEpoch(_ epoch: Epoch, base: Int64, after previous: Epoch, seq: Int64) throws {
        try setMeta("epoch", epoch.rawValue)
        try setMeta("previous_epoch", previous.rawValue)
        try setMeta("seq", seq)
        try setUnpublished(SequenceSet(), last: base + seq)
        try setEpoch(epoch, base: base)
    }

    // MARK: - Contents

    /// Returns the state of the rows, and the size of the pending payloads in bytes.
    func contents() throws -> (OutboxContents, bytes: Int64) {
        let done = try database.integer("SELECT done FROM entries ORDER BY id DESC LIMIT 1")
        let ranges = try database.prepare("SELECT first, last FROM journaled")
        var journaled = SequenceSet()
        while try ranges.step() { journaled.insert(ranges.int64(at: 0)...ranges.int64(at: 1)) }
        let query = try database.prepare("SELECT id, length(payload) FROM entries WHERE id > ? ORDER BY id")
        try query.bind(done, at: 1)
        var pending = SequenceSet()
        var bytes: Int64 = 0
        while try query.step() {
            let id = query.int64(at: 0)
            guard !journaled.contains(id) else { continue }
            pending.insert(id)
            bytes += query.int64(at: 1)
        }
        // Rows that the last run did not delete.
        let first = journaled.watermark + 1
        let isLeft = try database.integer(
            "SELECT EXISTS (SELECT * FROM entries WHERE id BETWEEN \(first) AND \(done))")
        let acknowledged = SequenceSet(isLeft == 1 ? [first...done] : [])
        return (OutboxContents(pending: pending, acknowledged: acknowledged, journaled: journaled), bytes)
    }

    /// Returns whether the file has batches of the journal.
    func hasJournal() throws -> Bool {
        try database.integer("SELECT EXISTS (SELECT * FROM entries WHERE journal)") == 1
    }

    /// Writes which batches are kept only as the journal.
    func setJournaled(_ ids: SequenceSet) throws {
        try database.execute("DELETE FROM journaled")
        let insert = try database.prepare("INSERT INTO journaled (first, last) VALUES (?, ?)")
        for range in ids.ranges {
            try insert.bind(range.lowerBound, at: 1)
            try insert.bind(range.upperBound, at: 2)
            try insert.run()
        }
    }

    /// Deletes the oldest rows of the journal.
    /// - Parameter ids: the batches that are kept only as the journal.
    /// - Returns: the number of rows, or 0 if there are none.
    func deleteOldestJournal(_ ids: SequenceSet) throws -> Int {
        if try database.integer("SELECT EXISTS (SELECT * FROM sqlite_schema WHERE name = 'journal_1')") == 1 {
            try database.execute(
                "DELETE FROM journal_1 WHERE id IN (SELECT id FROM journal_1 ORDER BY id LIMIT \(Self.journalRows))")
            if database.changes > 0 { return database.changes }
        }
        for range in ids.ranges {
            try database.execute(
                """
                DELETE FROM entries WHERE id IN (
                    SELECT id FROM entries WHERE id BETWEEN \(range.lowerBound) AND \(range.upperBound)
                    ORDER BY id LIMIT \(Self.journalRows))
                """)
            if database.changes > 0 { return database.changes }
        }
        return 0
    }

    /// The number of rows of the journal that are deleted at a time.
    private static let journalRows = 256
}
