/// A view of the store for people: it shows device names and readable times. A collector replaces views whose
/// definition has changed.
struct View {
    let name: String
    let select: String

    var create: String { "CREATE VIEW \(name) AS\n\(select)" }
}

/// Returns the SQL expression that formats a time in µs since 1970 as ISO 8601 with microseconds. NULL stays NULL.
func isoTime(_ column: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%S', \(column) / 1000000, 'unixepoch') || printf('.%06dZ', \(column) % 1000000)"
}

/// The views that are independent of the streams.
let baseViews = [
    View(
        name: "v_devices",
        select: """
            -- All devices with their state and counters.
            SELECT group_name, device, state, \(isoTime("since")) AS since, reason,
                \(isoTime("first_seen")) AS first_seen,
                \(isoTime("last_seen")) AS last_seen,
                \(isoTime("last_t")) AS last_sample,
                samples, duplicates, conflicts, ifnull(missing, 0) AS missing_batches,
                ifnull(on_its_way, 0) AS batches_on_their_way
            FROM devices LEFT JOIN (
                SELECT group_name, device, sum(missing) AS missing, sum(batches - missing - before) AS on_its_way
                FROM v_gaps GROUP BY group_name, device
            ) USING (group_name, device)
            """),
    View(
        name: "v_states",
        select: """
            -- All changes of life-cycle states.
            SELECT group_name, device, states.seq AS seq, \(isoTime("states.since")) AS time,
                states.previous AS previous, states.state AS state, states.reason AS reason, states.since AS t
            FROM states JOIN merged_devices USING (device_id)
            """),
    View(
        name: "v_gaps",
        select: """
            -- Batches that are not stored: neither received nor dropped by the agent, and below a batch that was. Of these,
            -- "missing" are not on the device any more, "before" were received by other stores before this one knew the
            -- device, and the others are on their way.
            WITH known AS (
                SELECT device_id, epoch, first, last FROM batches
                UNION ALL SELECT device_id, epoch, first, last FROM dropped
            ), reach AS (
                SELECT device_id, epoch, first, ifnull(max(last) OVER (
                    PARTITION BY device_id, epoch ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ), 0) AS known_to
                FROM known
            ), gaps AS (
                SELECT device_id, epoch, known_to + 1 AS first, first - 1 AS last FROM reach WHERE first > known_to + 1
            ), gone AS (
                SELECT device_id, epoch, json_extract(value, '$[0]') AS first, json_extract(value, '$[1]') AS last, 0 AS earlier
                FROM reports, json_each(gone)
                UNION ALL
                SELECT device_id, epoch, json_extract(value, '$[0]'), json_extract(value, '$[1]'), 1
                FROM reports, json_each(before)
                UNION ALL
                SELECT DISTINCT device_id, epoch, 1, 9007199254740991, 0
                FROM gaps JOIN merged_devices USING (device_id)
                WHERE epoch IS NOT session_epoch AND NOT EXISTS (
                    SELECT 1 FROM reports WHERE reports.device_id = gaps.device_id AND reports.epoch = gaps.epoch)
            )
            SELECT group_name, device, gaps.epoch AS epoch, gaps.first AS first, gaps.last AS last,
                gaps.last - gaps.first + 1 AS batches,
                ifnull(sum(iif(earlier, 0, max(0, min(gaps.last, gone.last) - max(gaps.first, gone.first) + 1))), 0) AS missing,
                ifnull(sum(iif(earlier, max(0, min(gaps.last, gone.last) - max(gaps.first, gone.first) + 1), 0)), 0) AS before
            FROM gaps JOIN merged_devices USING (device_id)
            LEFT JOIN gone ON gone.device_id = gaps.device_id AND gone.epoch = gaps.epoch
            GROUP BY gaps.device_id, gaps.epoch, gaps.first
            """),
    View(
        name: "v_conflicts",
        select: """
            -- Samples with the time of a stored sample but different values.
            SELECT group_name, device, stream, \(isoTime("conflicts.t")) AS time, stored, received, epoch, seq,
                \(isoTime("conflicts.at")) AS received_at, conflicts.t AS t
            FROM conflicts JOIN merged_devices USING (device_id)
            """),
    View(
        name: "v_clocks",
        select: """
            -- Estimates of devices' clocks: offset is the device's time minus the collector's.
            SELECT group_name, device, collector, \(isoTime("clocks.t")) AS time, offset AS offset_us,
                skew AS drift_ppm, bound AS bound_us, skew_bound AS drift_bound_ppm, epoch, segment, clocks.t AS t
            FROM clocks JOIN merged_devices USING (device_id)
            """),
    View(
        name: "v_rejected",
        select: """
            -- Rejected messages. head is the beginning of the payload: text if it is JSON, otherwise hexadecimal.
            SELECT id, \(isoTime("at")) AS time, topic, reason, size,
                CASE WHEN substr(head, 1, 1) IN (x'7b', x'5b') THEN CAST(head AS TEXT) ELSE hex(head) END AS head
            FROM rejected
            """),
]
