import LockstepModel
import LockstepStore

// The tables and views of events. Their columns are those of an SQLite store.

extension ClickHouseSchema {
    var eventTables: [String] {
        [
            // A row holds all that rules know of a device, see RuleProgress. The row with the highest version counts.
            """
            CREATE TABLE IF NOT EXISTS received_rule_states (
                device_id Int64, group_name String, device String, content String, version UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: "received_rule_states")) ORDER BY device_id\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_events (
                event_id Int64, rule String, device_id Int64, t Int64, at Int64, value Nullable(Float64), text String,
                late Int64, severity String
            ) ENGINE = \(storage.engine("ReplacingMergeTree", of: "received_events")) ORDER BY (device_id, rule, t, event_id)\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_acknowledgements (
                event_id Int64, at Int64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", of: "received_acknowledgements")) ORDER BY (event_id, at)\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_deliveries (
                delivery_id Int64, event_id Int64, way String, state String, attempts Int64, due Int64,
                error Nullable(String), version UInt64, device_id Int64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: "received_deliveries"))
            PRIMARY KEY delivery_id ORDER BY (delivery_id, device_id)\(storage.clause)
            """,
        ]
    }

    /// The views of events. Of several rows about one event, the first counts, as does its first acknowledgement.
    var eventViews: [(name: String, select: String)] {
        [
            (
                "events",
                Self.selectEvents()
            ),
            (
                "deliveries",
                Self.selectDeliveries
            ),
        ]
    }

    /// Returns the query of the view `events`, or of a part of it.
    /// - Parameter condition: a condition on rows of `received_events`. All rows about an event must meet it, or none.
    static func selectEvents(where condition: String? = nil) -> String {
        let rows = condition.map { "\nWHERE \($0)" } ?? ""
        let acknowledged =
            condition.map { "\nWHERE event_id IN (SELECT event_id FROM received_events WHERE \($0))" } ?? ""
        return """
            SELECT event_id, rule, device_id, t, at, value, text, late, severity,
            if(first_acknowledged = 0, NULL, first_acknowledged) AS acknowledged
            FROM (SELECT \(eventColumns.joined(separator: ", ")) FROM received_events\(rows)
            ORDER BY device_id, rule, t, event_id LIMIT 1 BY device_id, rule, t) AS first_rows
            ANY LEFT JOIN (SELECT event_id, min(at) AS first_acknowledged FROM received_acknowledgements\(acknowledged)
            GROUP BY event_id) AS acknowledgements USING event_id
            """
    }

    /// The query of the view `deliveries`.
    ///
    /// Two collectors may give the same number to events of different devices, so that a notification is identified by its
    /// number and the device.
    static let selectDeliveries =
        """
        SELECT delivery_id, latest.1 AS event_id, latest.2 AS way, latest.3 AS state, latest.4 AS attempts,
        latest.5 AS due, latest.6 AS error, if(owner = \(noDevice), 0, owner) AS device_id
        FROM (SELECT delivery_id, device_id AS owner,
        argMax((event_id, way, state, attempts, due, error), version) AS latest
        FROM received_deliveries GROUP BY delivery_id, owner)
        """

    /// The device in `received_deliveries` of an event that is about no device.
    static let noDevice: Int64 = -1

    /// The columns of `received_events`.
    static let eventColumns = ["event_id", "rule", "device_id", "t", "at", "value", "text", "late", "severity"]
    /// The columns of `received_deliveries`.
    static let deliveryColumns = [
        "delivery_id", "event_id", "way", "state", "attempts", "due", "error", "version", "device_id",
    ]
    /// The columns of `received_rule_states`.
    static let ruleStateColumns = ["device_id", "group_name", "device", "content", "version"]
}

/// The versions of rows about devices and states. The row with the highest version counts.
///
/// A collector that has the store to itself uses the time in µs. The collectors of a cluster use the token of their claim,
/// followed by a counter of 32 bits, so that a row of an earlier claim never replaces a row of a later one. Tokens are at
/// least the time of the first claim in s since 1970, so that versions with a token are higher than all others.
enum Fence {
    /// The lowest version with a token.
    private static let lowest: UInt64 = 1 << 60

    /// The version that precedes all versions of a claim.
    static func start(of token: FencingToken) -> UInt64 { UInt64(token.rawValue) << 32 }

    /// Returns the lowest token whose versions are all higher than `version`, or nil if there is none.
    static func next(after version: UInt64) -> FencingToken? {
        UInt32(exactly: max(version, lowest - 1) >> 32 + 1).map(FencingToken.init(rawValue:))
    }

    /// Returns the SQL expression of the token in a version; 0 for a version that is a time.
    ///
    /// A transition counts only if no later claim has written about the device at the same or a lower number: a later
    /// claim writes the last transition that it has found again, and continues after it.
    static func sql(_ version: String) -> String {
        "if(\(version) < \(lowest), toUInt64(0), bitShiftRight(\(version), 32))"
    }
}

extension StreamDefinition {
    /// Adds or updates the definitions of `streams`.
    /// - Throws: ``/LockstepStore/StoreError`` if a stream differs from the stored one.
    static func register(_ streams: [SensorStream], in client: ClickHouseClient) throws(StoreError) {
        let changes = try changes(to: streams, in: client)
        guard !changes.isEmpty else { return }
        // The newest row counts, also after the clock was ahead.
        let newest = try client.rows("SELECT max(at) FROM streams").first?[0].flatMap { UInt64($0) } ?? 0
        let at = max(UInt64(clamping: Moment.now().wall.microseconds), newest + 1)
        var rows = RowBinary()
        for (stream, definition, _) in changes {
            rows.append(stream.name)
            rows.append(stream.table)
            rows.append(definition)
            rows.append(at)
            rows.endRow()
        }
        try client.insert(rows.bytes, into: "streams", columns: ["name", "table_name", "definition", "at"])
    }
}
