import LockstepModel

// The views with the documented names: they show the merged rows and the rows of the logs and runs.

extension SensorStream {
    /// The table of the merged rows.
    var mergedTable: String { "merged_\(table)" }

    /// The view that shows all rows of the stream.
    /// - Parameters:
    ///   - logStream: the place of the stream in the logs, or nil if it has none.
    ///   - mergedColumns: the columns that the table of merged rows has, see ``MergedColumns``.
    func samplesView(_ logStream: LogStream?, mergedColumns: Set<String>) -> View {
        // With the type of the values in the logs, see `LogStream.value`.
        let values = columns.map { column in
            column.isShort(among: mergedColumns)
                ? "CAST(\(StoredReal.valueSQL(column.storedName)) AS REAL) AS \(column.name)" : column.name
        }
        let lines = zip(values, columns).map { "\($0), -- \($1.comment)" }
        // The last column must not be followed by a comma.
        let names = lines.dropLast() + [columns.last.map { "\(values[values.count - 1]) -- \($0.comment)" } ?? ""]
        var selects = [
            """
            -- \(name): \(summary)
            SELECT device_id,
                t, -- time in µs since 1970-01-01 UTC, on the device's time line
                \(names.joined(separator: "\n    "))
            FROM \(mergedTable)
            """
        ]
        if let logStream {
            for source in RowSource.all { selects.append(select(source, logStream)) }
        }
        return View(name: table, select: selects.joined(separator: "\nUNION ALL\n"))
    }

    private func select(_ source: RowSource, _ logStream: LogStream) -> String {
        let values = columns.map(logStream.value)
        let table = source.table(logStream.shape)
        // SQLite uses the second range if a condition of the query sets the device, and the first one otherwise.
        // NOT INDEXED keeps it from building an index of all devices, which takes longer than the search.
        return """
            SELECT sample.device_id, sample.t, \(values.joined(separator: ", "))
            FROM \(source.partsTable) CROSS JOIN \(table) AS sample NOT INDEXED
                ON sample.id BETWEEN \(source.keysOfAllSQL(stream: logStream.id))
                AND sample.id BETWEEN \(source.keysSQL(stream: "\(logStream.id)", device: "sample.device_id"))
                AND \(source.isVisible("+sample.device_id"))
            WHERE \(source.partsSQL(of: logStream.id, in: table))
            """
    }
}

/// The views of devices, batch numbers, clocks and states.
let ledgerViews = [
    View(
        name: "devices",
        select: """
            -- One row per device. Times are µs since 1970-01-01 UTC. See also the view v_devices.
            SELECT device_id, -- identifies the device in the other tables
                group_name,
                device,
                \(lesser("merged.first_seen", "recent.first_seen")) AS first_seen, -- time of its first message, on the collector's clock
                \(greater("merged.last_seen", "recent.last_seen")) AS last_seen, -- time of its last message, on the collector's clock
                \(greater("merged.last_t", "recent.last_t")) AS last_t, -- time of its newest sample
                merged.samples + ifnull(recent.samples, 0) AS samples, -- stored samples of all streams
                merged.duplicates + ifnull(recent.duplicates, 0) AS duplicates, -- samples received again with the same values
                merged.conflicts + ifnull(recent.conflicts, 0) AS conflicts, -- samples received again with different values, see the table conflicts
                state, -- life-cycle state: active, inactive, background, resumed, terminated
                since, -- time of the last change of the state
                previous, -- previous state
                reason, -- reason for the last change
                state_seq, -- number of the last change, see the table states
                session, -- newest session: start of the agent's connection
                phase, -- phase last reported by that session: foreground, inactive, background, terminated, lost
                rests_on, -- time of evidence for the state, on the device's time line; updated with the state or later
                session_epoch -- epoch of the session
            FROM merged_devices AS merged LEFT JOIN (
                SELECT device_id, min(seen) AS first_seen, max(seen) AS last_seen, max(last_t) AS last_t,
                    sum(samples) AS samples, sum(duplicates) AS duplicates, sum(conflicts) AS conflicts
                FROM (
                    \(LogNumber.allCases.flatMap(recentFigures).joined(separator: "\n        UNION ALL "))
                ) GROUP BY device_id
            ) AS recent USING (device_id)
            """),
    View(
        name: "batches",
        select: """
            -- Numbers of the received batches, as ranges from first to last (inclusive). Ranges may be adjacent or repeated.
            -- See also the view v_gaps.
            SELECT device_id, epoch, -- epoch of the agent's outbox; batch numbers are unique within (device, epoch)
                first, last
            FROM merged_batches
            \(LogNumber.allCases.flatMap(recentBatches).map { "UNION ALL " + $0 }.joined(separator: "\n"))
            """),
    ClockLog.view,
    statesView,
]

/// The view of life-cycle transitions. The first one of a device is in its row of `merged_devices` until the second one
/// replaces it there.
let statesView = View(
    name: "states",
    select: """
        -- One row per change of a device's life-cycle state. See also the view v_states.
        SELECT device_id,
            seq, -- number of the change, from 1
            state, -- new state: active, inactive, background, resumed, terminated
            since, -- time of the change, in µs since 1970-01-01 UTC
            previous, -- previous state; NULL for the first change
            reason -- foreground, background, connection-lost, silent, live-sample, settled, ...
        FROM merged_states
        UNION ALL
        SELECT device_id, state_seq, state, since, previous, reason FROM merged_devices AS device
        WHERE state_seq = 1 AND NOT EXISTS (
            SELECT 1 FROM merged_states AS state WHERE state.device_id = device.device_id AND seq = 1
        )
        """)

private func recentFigures(_ log: LogNumber) -> [String] {
    let samples = LogShape.allCases.map { shape in
        """
        SELECT device_id, t + delay AS seen, t AS last_t, 1 AS samples, 0 AS duplicates, 0 AS conflicts
                    FROM \(shape.table(of: log)) WHERE \(log.isVisible())
        """
    }
    let changes = """
        SELECT device_id, seen, last_t, samples, duplicates, conflicts
                    FROM \(log.changesTable) WHERE \(log.isVisible())
        """
    return samples + [changes]
}

private func recentBatches(_ log: LogNumber) -> [String] {
    let samples = LogShape.allCases.map { shape in
        """
        SELECT sample.device_id, \(EpochTable.epochSQL(of: "sample")), seq, seq
                FROM \(shape.table(of: log)) AS sample WHERE seq IS NOT NULL AND \(log.isVisible("sample.device_id"))
        """
    }
    let changes = """
        SELECT changes.device_id, \(EpochTable.epochSQL(of: "changes")), first, last
                FROM \(log.changesTable) AS changes WHERE last IS NOT NULL AND \(log.isVisible("changes.device_id"))
        """
    return samples + [changes]
}

/// The SQL expression of the greater of two values, of which either may be NULL.
private func greater(_ left: String, _ right: String) -> String {
    "max(ifnull(\(left), \(right)), ifnull(\(right), \(left)))"
}

/// The SQL expression of the lesser of two values, of which either may be NULL.
private func lesser(_ left: String, _ right: String) -> String {
    "min(ifnull(\(left), \(right)), ifnull(\(right), \(left)))"
}
