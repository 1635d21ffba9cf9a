/// A view of the store. A collector replaces views whose definition has changed.
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
let storeViews = [
    View(
        name: "devices",
        select: """
            -- One row per device. Times are µs since 1970-01-01 UTC. See also the view v_devices.
            SELECT device_id, -- identifies the device in the other tables
                group_name,
                device,
                min(ifnull(first_seen, first), ifnull(first, first_seen)) AS first_seen, -- time of its first message, on the collector's clock
                max(ifnull(last_seen, last), ifnull(last, last_seen)) AS last_seen, -- time of its last message, on the collector's clock
                max(ifnull(last_t, newest), ifnull(newest, last_t)) AS last_t, -- time of its newest sample
                samples + ifnull(added, 0) AS samples, -- stored samples of all streams
                duplicates, -- samples received again with the same values
                conflicts, -- samples received again with different values, see the table conflicts
                state, -- life-cycle state: active, inactive, background, resumed, terminated
                since, -- time of the last change of the state
                previous, -- previous state
                reason, -- reason for the last change
                state_seq, -- number of the last change, see the table states
                session, -- newest session: start of the agent's connection
                session_epoch, -- epoch of the session
                phase, -- phase last reported by that session: foreground, inactive, background, terminated, lost
                rests_on -- time of evidence for the state, on the device's time line; updated with the state or later
            FROM _devices LEFT JOIN (
                SELECT device_id, min(received) AS first, max(received) AS last, sum(count) AS added,
                    max(iif(stream_id > 0, last_t, NULL)) AS newest
                FROM _waiting WHERE \(isWaiting) GROUP BY device_id
            ) USING (device_id)
            """),
    View(
        name: "batches",
        select: """
            -- Numbers of the received batches, as ranges from first to last (inclusive). Ranges may be adjacent or repeated.
            -- See also the view v_gaps.
            SELECT device_id, epoch, -- epoch of the agent's outbox; batch numbers are unique within (device, epoch)
                first, last
            FROM _batches
            UNION ALL
            SELECT device_id, epoch, iif(batch.type = 'array', batch.value ->> 0, batch.value),
                iif(batch.type = 'array', batch.value ->> 1, batch.value)
            FROM _waiting, json_each(batches) AS batch WHERE \(isWaiting)
            """),
    View(
        name: "clocks",
        select: """
            -- Estimates of devices' clocks, linear in between. See docs/clock.md.
            SELECT device_id,
                collector, -- id of the collector whose clock is the reference
                epoch, -- epoch of the agent's outbox
                t, -- time of the estimate on the device's time line, in µs since 1970-01-01 UTC
                segment, -- time of the first estimate since a clock was stepped or a machine suspended
                offset, -- device's time minus collector's time, in µs
                skew, -- change of the offset, in ppm
                bound, -- largest possible error of the offset, in µs
                skew_bound -- largest possible error of the skew, in ppm
            FROM _clocks
            UNION ALL
            SELECT \(ClockTable.waitingColumns)
            FROM _waiting, json_each(rows) AS estimate
            WHERE stream_id = \(ClockTable.streamID) AND \(isWaiting)
            """),
    View(
        name: "v_devices",
        select: """
            -- All devices with their state and counters, and readable times.
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
                FROM _reports, json_each(gone)
                UNION ALL
                SELECT device_id, epoch, json_extract(value, '$[0]'), json_extract(value, '$[1]'), 1
                FROM _reports, json_each(before)
                UNION ALL
                SELECT DISTINCT device_id, epoch, 1, 9007199254740991, 0
                FROM gaps JOIN _devices USING (device_id)
                WHERE epoch IS NOT session_epoch AND NOT EXISTS (
                    SELECT 1 FROM _reports WHERE _reports.device_id = gaps.device_id AND _reports.epoch = gaps.epoch)
            )
            SELECT group_name, device, gaps.epoch AS epoch, gaps.first AS first, gaps.last AS last,
                gaps.last - gaps.first + 1 AS batches,
                ifnull(sum(iif(earlier, 0, max(0, min(gaps.last, gone.last) - max(gaps.first, gone.first) + 1))), 0) AS missing,
                ifnull(sum(iif(earlier, max(0, min(gaps.last, gone.last) - max(gaps.first, gone.first) + 1), 0)), 0) AS before
            FROM gaps JOIN _devices USING (device_id)
            LEFT JOIN gone ON gone.device_id = gaps.device_id AND gone.epoch = gaps.epoch
            GROUP BY gaps.device_id, gaps.epoch, gaps.first
            """),
]
