/// A view of the store for people. Views hold no data: a writer replaces those whose text has changed.
struct View {
    let name: String
    let select: String

    var create: String { "CREATE VIEW \(name) AS\n\(select)" }
}

/// The SQL for a time in µs since 1970 as ISO 8601 text with microseconds; NULL stays NULL.
func isoTime(_ column: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%S', \(column) / 1000000, 'unixepoch') || printf('.%06dZ', \(column) % 1000000)"
}

/// The views that don't follow from the streams.
let baseViews = [
    View(
        name: "v_devices",
        select: """
            -- Every device, its state and what is stored of it.
            SELECT group_name, device, state, \(isoTime("since")) AS since, reason,
                \(isoTime("first_seen")) AS first_seen,
                \(isoTime("last_seen")) AS last_seen,
                \(isoTime("last_t")) AS last_sample,
                samples, duplicates, conflicts, ifnull(missing, 0) AS missing_batches
            FROM devices LEFT JOIN (
                SELECT group_name, device, sum(batches) AS missing FROM v_gaps GROUP BY group_name, device
            ) USING (group_name, device)
            """),
    View(
        name: "v_states",
        select: """
            -- Every change of a life-cycle state.
            SELECT group_name, device, states.seq AS seq, \(isoTime("states.since")) AS time,
                states.previous AS previous, states.state AS state, states.reason AS reason, states.since AS t
            FROM states JOIN devices USING (device_id)
            """),
    View(
        name: "v_gaps",
        select: """
            -- Batches that are missing: neither received nor dropped by the agent, below one that is.
            WITH known AS (
                SELECT device_id, epoch, first, last FROM batches
                UNION ALL SELECT device_id, epoch, first, last FROM dropped
            ), reach AS (
                SELECT device_id, epoch, first, ifnull(max(last) OVER (
                    PARTITION BY device_id, epoch ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ), 0) AS known_to
                FROM known
            )
            SELECT group_name, device, epoch, known_to + 1 AS first, first - 1 AS last,
                first - 1 - known_to AS batches
            FROM reach JOIN devices USING (device_id) WHERE first > known_to + 1
            """),
    View(
        name: "v_conflicts",
        select: """
            -- Samples that came with the time of a stored one and other values.
            SELECT group_name, device, stream, \(isoTime("conflicts.t")) AS time, stored, received, epoch, seq,
                \(isoTime("conflicts.at")) AS received_at, conflicts.t AS t
            FROM conflicts JOIN devices USING (device_id)
            """),
    View(
        name: "v_rejected",
        select: """
            -- Messages that could not be taken in; the payload's beginning as text if it is JSON, else in hexadecimal.
            SELECT id, \(isoTime("at")) AS time, topic, reason, size,
                CASE WHEN substr(head, 1, 1) IN (x'7b', x'5b') THEN CAST(head AS TEXT) ELSE hex(head) END AS head
            FROM rejected
            """),
]
