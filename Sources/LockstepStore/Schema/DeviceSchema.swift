import LockstepModel
import LockstepSQLite

/// The table `merged_devices`, whose rows are short: with thousands of devices, the row of a new device takes more space
/// than its samples of half a minute.
///
/// Times are stored as differences, and the usual words as numbers. Computed columns, which take no space, have the values
/// themselves. There is no index of the names: only a collector inserts devices, and it keeps their names in memory.
enum DeviceSchema {
    /// The time that stored times are relative to: 2023-11-14 22:13:20 UTC, in µs since 1970. Differences from it take
    /// six bytes for years, times since 1970 eight.
    static let reference: Int64 = 1_700_000_000_000_000

    /// Words that are stored as their position. SQLite needs no byte for 0 and 1. Other words are stored as they are.
    ///
    /// Never change a position: add words at the end, with a migration of the computed columns.
    static let words = [
        "active", "foreground", "start", "background", "inactive", "resumed", "terminated", "lost", "connection-lost",
        "silent", "settled", "live-sample", "reconnect", "stop", "message", "command",
    ]

    /// The statement that creates the table, as of schema 9.
    static var create: String {
        """
        CREATE TABLE merged_devices (
            -- One row per device. The view devices shows it together with the changes in the logs.
            device_id INTEGER PRIMARY KEY, -- identifies the device in the other tables
            group_name TEXT NOT NULL,
            device TEXT NOT NULL,
            -- What is stored: times in µs after origin, and numbers for frequent words. The columns below are computed from it.
            origin INTEGER NOT NULL DEFAULT 0, -- µs after 2023-11-14 22:13:20 UTC
            epoch_code, -- first epoch; a number if it has 16 hexadecimal digits
            first_seen_after INTEGER,
            last_seen_after INTEGER, -- after the first message
            since_after INTEGER,
            state_code,
            previous_code,
            reason_code,
            state_seq INTEGER, -- number of the last change, see the view states
            session_after INTEGER,
            phase_code,
            rests_on_after INTEGER,
            session_epoch_code, -- 0: the first epoch
            last_t_after INTEGER,
            samples INTEGER NOT NULL DEFAULT 0, -- stored samples of all streams
            duplicates INTEGER NOT NULL DEFAULT 0, -- samples received again with the same values
            conflicts INTEGER NOT NULL DEFAULT 0, -- samples received again with different values, see the table conflicts
            first_epoch TEXT AS (\(epoch("epoch_code"))), -- epoch of the rows in the logs whose epoch_id is 0
            first_seen INTEGER AS (\(time("first_seen_after"))), -- time of its first message, on the collector's clock
            last_seen INTEGER AS (\(reference) + origin + ifnull(first_seen_after, 0) + last_seen_after), -- time of its last message
            last_t INTEGER AS (\(time("last_t_after"))), -- time of its newest sample
            state TEXT AS (\(word("state_code"))), -- life-cycle state: active, inactive, background, resumed, terminated
            since INTEGER AS (\(time("since_after"))), -- time of the last change of the state
            previous TEXT AS (\(word("previous_code"))), -- previous state
            reason TEXT AS (\(word("reason_code"))), -- reason for the last change
            session INTEGER AS (\(time("session_after"))), -- newest session: start of the agent's connection
            phase TEXT AS (\(word("phase_code"))), -- phase last reported by that session: foreground, inactive, background, terminated, lost
            rests_on INTEGER AS (\(time("rests_on_after"))), -- time of the newest evidence for the state, on the device's time line
            session_epoch TEXT AS (CASE session_epoch_code WHEN 0 THEN \(epoch("epoch_code")) ELSE session_epoch_code END) -- epoch of the session
        )
        """
    }

    /// Returns the SQL expression of the time in a column that is stored as a difference.
    private static func time(_ column: String) -> String { "\(reference) + origin + \(column)" }

    /// Returns the SQL expression of the epoch in a column.
    private static func epoch(_ column: String) -> String {
        "CASE typeof(\(column)) WHEN 'integer' THEN printf('%016x', \(column)) ELSE \(column) END"
    }

    /// Returns the SQL expression of the word in a column.
    private static func word(_ column: String) -> String {
        let cases = words.enumerated().map { "WHEN \($0) THEN '\($1)'" }.joined(separator: " ")
        return "CASE \(column) \(cases) ELSE \(column) END"
    }
}

/// A word or an epoch as the table `merged_devices` stores it.
enum DeviceCode: Equatable {
    case number(Int64)
    case text(String)

    private static let numbers = Dictionary(
        uniqueKeysWithValues: DeviceSchema.words.enumerated().map { ($1, Int64($0)) })

    /// Returns the code of a word.
    init(word: String) { self = Self.numbers[word].map(Self.number) ?? .text(word) }

    /// Returns the code of an epoch. The usual epochs are 64 bits as hexadecimal digits in lower case.
    init(_ epoch: Epoch) {
        let text = epoch.rawValue
        let isUsual =
            text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        if isUsual, let bits = UInt64(text, radix: 16) {
            self = .number(Int64(bitPattern: bits))
        } else {
            self = .text(text)
        }
    }
}

extension SQLiteStatement {
    /// Binds a code, or NULL.
    func bind(_ code: DeviceCode?, at index: Int) throws(SQLiteError) {
        switch code {
        case .number(let number): try bind(number, at: index)
        case .text(let text): try bind(text, at: index)
        case nil: try bindNull(at: index)
        }
    }
}
