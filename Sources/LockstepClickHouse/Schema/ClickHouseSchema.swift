import LockstepModel
import LockstepStore

/// The tables and views of a store in ClickHouse.
///
/// The tables `received_…` may hold a row more than once: after an insert whose answer was lost, it is written again.
/// Rows with the same key replace each other when ClickHouse merges them, and the views, which have the names and
/// columns of the tables of an SQLite store, show each row once at any time.
struct ClickHouseSchema {
    static let version = 1

    /// The settings of every table.
    let storage: StorageSettings
    let streams: [SensorStream]

    /// The statements that create the tables that are independent of the streams.
    var baseTables: [String] {
        [
            // This table is never replicated: it is about the tables and views of one server.
            """
            CREATE TABLE IF NOT EXISTS lockstep_schema (
                version UInt32, views UInt64, at Int64
            ) ENGINE = MergeTree ORDER BY at\(storage.clause)
            """,
            // A row holds everything about a device. The row with the highest version is the current one.
            """
            CREATE TABLE IF NOT EXISTS received_devices (
                device_id Int64, group_name String, device String,
                first_seen Nullable(Int64), last_seen Nullable(Int64), last_t Nullable(Int64),
                samples Int64, duplicates Int64, conflicts Int64,
                state Nullable(String), since Nullable(Int64), previous Nullable(String), reason Nullable(String),
                state_seq Nullable(Int64), session Nullable(Int64), session_epoch Nullable(String),
                phase Nullable(String), rests_on Nullable(Int64), version UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: "received_devices")) ORDER BY device_id\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_states (
                device_id Int64, seq Int64, state String, since Int64, previous Nullable(String), reason String,
                version UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: "received_states")) ORDER BY (device_id, seq)\(storage.clause)
            """,
            // A range that grows replaces its earlier, shorter versions.
            """
            CREATE TABLE IF NOT EXISTS received_batches (
                device_id Int64, epoch String, first Int64, last Int64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "last", of: "received_batches")) ORDER BY (device_id, epoch, first)\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_dropped (
                device_id Int64, epoch String, first Int64, last Int64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "last", of: "received_dropped")) ORDER BY (device_id, epoch, first)\(storage.clause)
            """,
            // Batches that are not stored and that devices no longer have, as a JSON array. See EpochReport.
            """
            CREATE TABLE IF NOT EXISTS received_reports (
                device_id Int64, epoch String, gone String, before String, version UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: "received_reports")) ORDER BY (device_id, epoch)\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_clocks (
                device_id Int64, collector String, epoch String, t Int64, segment Int64, offset Int64, skew Float64,
                bound Int64, skew_bound Float64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", of: "received_clocks")) ORDER BY (device_id, collector, epoch, t)\(storage.clause)
            """,
            // What has left by the rules of retention, a row for each time that something of a stream has left.
            """
            CREATE TABLE IF NOT EXISTS received_expired (
                device_id Int64, stream String, from_t Int64, samples Int64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "samples", of: "received_expired")) ORDER BY (device_id, stream, from_t)\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS received_deletions (
                request String, device_id Int64, stream Nullable(String), from_t Int64, to_t Int64, at Int64,
                who Nullable(String), reason Nullable(String), secure Int64, count Int64, refused Int64,
                done Nullable(Int64), version UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: "received_deletions")) ORDER BY request\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS streams (
                name String, table_name String, definition String, at UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "at", of: "streams")) ORDER BY name\(storage.clause)
            """,
            """
            CREATE TABLE IF NOT EXISTS rejected (
                at Int64, topic String, reason String, size Int64, head String
            ) ENGINE = \(storage.engine("MergeTree", of: "rejected")) PARTITION BY intDiv(at, \(Self.day)) ORDER BY at\(storage.clause)
            """,
        ] + eventTables + sessionTables
    }

    /// The views that are independent of the streams.
    private var baseViews: [(name: String, select: String)] {
        let latest = DeviceRecord.columns.dropFirst().enumerated().map { index, name in
            "latest.\(index + 1) AS \(name)"
        }
        let values = DeviceRecord.columns.dropFirst().joined(separator: ", ")
        return [
            (
                "devices",
                """
                SELECT device_id, \(latest.joined(separator: ", ")) FROM (
                SELECT device_id, argMax((\(values)), version) AS latest FROM received_devices GROUP BY device_id)
                """
            ),
            // See Fence. Since ClickHouse 20.1, the parts of a join need names. The function in WHERE takes arrays because ClickHouse 18.16 does not find columns of a join in it.
            (
                "states",
                """
                SELECT device_id, seq, latest.1 AS state, latest.2 AS since, latest.3 AS previous, latest.4 AS reason
                FROM (SELECT device_id, seq, latest, tokens, firsts, arrayMap(x -> claim, tokens) AS claims,
                arrayMap(x -> seq, tokens) AS numbers
                FROM (SELECT device_id, seq, argMax((state, since, previous, reason), version) AS latest,
                \(Fence.sql("max(version)")) AS claim FROM received_states GROUP BY device_id, seq) AS versions
                ANY LEFT JOIN (SELECT device_id, groupArray(token) AS tokens, groupArray(first) AS firsts
                FROM (SELECT device_id, \(Fence.sql("version")) AS token, min(seq) AS first FROM received_states
                GROUP BY device_id, token) GROUP BY device_id) AS claims_of USING device_id)
                WHERE arrayExists((later, start, own, number) -> later > own AND start <= number,
                tokens, firsts, claims, numbers) = 0
                """
            ),
            (
                "deletions",
                """
                SELECT request, device_id, stream, from_t, to_t, at, who, reason, secure, count, refused, done
                FROM received_deletions ORDER BY request, version DESC LIMIT 1 BY request
                """
            ),
            ("batches", Self.ranges(of: "received_batches")),
            ("dropped", Self.ranges(of: "received_dropped")),
            (
                "expired",
                """
                SELECT device_id, stream, max(at) AS from_t, sum(most) AS samples FROM (
                SELECT device_id, stream, from_t AS at, max(samples) AS most FROM received_expired
                GROUP BY device_id, stream, from_t) GROUP BY device_id, stream
                """
            ),
            (
                "reports",
                """
                SELECT device_id, epoch, latest.1 AS gone, latest.2 AS before FROM (
                SELECT device_id, epoch, argMax((gone, before), version) AS latest FROM received_reports
                GROUP BY device_id, epoch)
                """
            ),
            (
                "clocks",
                """
                SELECT \(ClockColumns.names.joined(separator: ", ")) FROM received_clocks
                ORDER BY device_id, collector, epoch, t LIMIT 1 BY device_id, collector, epoch, t
                """
            ),
            (
                "conflicts",
                streams.map { stream in
                    """
                    SELECT device_id, '\(stream.name)' AS stream, t, uniqExact(_values_hash) - 1 AS conflicts
                    FROM \(stream.receivedTable) GROUP BY device_id, t HAVING conflicts > 0
                    """
                }.joined(separator: "\nUNION ALL\n")
            ),
        ]
    }

    var views: [(name: String, select: String)] {
        baseViews + eventViews + sessionViews
            + streams.flatMap { stream in
                [
                    (stream.table, stream.samplesView), ("v_" + stream.table, stream.readableView),
                    ("minutes_" + stream.table, stream.minutesView),
                ]
            }
    }

    private static func ranges(of table: String) -> String {
        "SELECT device_id, epoch, first, max(last) AS last FROM \(table) GROUP BY device_id, epoch, first"
    }

    /// µs of a day.
    static let day = 86_400_000_000
    /// The number of days for which rejected messages are kept.
    static let rejectedDays: Int64 = 30

    struct StorageSettings {
        /// Whether each insert waits until its files are on the disk. Needs ClickHouse 20.10.
        var syncsInserts: Bool
        /// The database whose tables are replicated, or nil if they are not.
        var replicatedDatabase: String?

        /// Returns the engine of a table. Replicas find each other by the path in the keeper, and each has its own name in
        /// the macro `replica` of its server.
        func engine(_ family: String, _ argument: String? = nil, of table: String) -> String {
            guard let replicatedDatabase else { return argument.map { "\(family)(\($0))" } ?? family }
            let arguments =
                ["'/lockstep/\(replicatedDatabase)/\(table)'", "'{replica}'"] + (argument.map { [$0] } ?? [])
            return "Replicated\(family)(\(arguments.joined(separator: ", ")))"
        }

        /// The clause at the end of CREATE TABLE.
        var clause: String { syncsInserts ? " SETTINGS \(Self.settings)" : "" }

        /// The settings with which an insert waits until its files are on the disk.
        static let settings = "fsync_after_insert = 1, fsync_part_directory = 1"
    }
}

extension SensorStream {
    /// The table that the store inserts the stream's samples into.
    var receivedTable: String { "received_" + table }

    /// The names of the columns of ``receivedTable``, in the order in which ``SampleRows`` writes them.
    var receivedColumns: [String] { ["device_id", "t"] + columns.map(\.name) + ["_rank", "_values_hash"] }

    /// The statement that creates ``receivedTable``.
    ///
    /// Rows with equal values have the same key and merge into the one received first, which has the highest rank. Rows
    /// with the same time and other values are kept; the one received first is the sample, the others are conflicts.
    func createReceivedTable(_ storage: ClickHouseSchema.StorageSettings) -> String {
        let values = columns.map { "\($0.name) \($0.clickHouseType)" }
        return """
            CREATE TABLE IF NOT EXISTS \(receivedTable) (
                device_id Int64, t Int64, \(values.joined(separator: ", ")), _rank UInt64, _values_hash UInt64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "_rank", of: receivedTable))
            PARTITION BY \(SamplePartition.expression)
            ORDER BY (device_id, t, _values_hash)\(storage.clause)
            """
    }

    /// The query of the view that shows each sample once.
    var samplesView: String {
        """
        SELECT device_id, t, \(columns.map(\.name).joined(separator: ", ")) FROM \(receivedTable)
        ORDER BY device_id, t, _rank DESC, _values_hash LIMIT 1 BY device_id, t
        """
    }

    /// The query of the view with the names of devices and readable times.
    var readableView: String {
        let values = columns.map(\.name).joined(separator: ", ")
        return """
            SELECT group_name, device, toDateTime(intDiv(t, 1000000), 'UTC') AS time, \(values), t
            FROM \(table) ALL INNER JOIN devices USING device_id
            """
    }
}

extension SensorStream.Column {
    /// The type of the column. It is always nullable: rows from before a column was added have no value.
    var clickHouseType: String {
        let type =
            switch kind {
            case .real: "Float64"
            case .integer: "Int64"
            case .choice: "String"
            }
        return "Nullable(\(type))"
    }
}
