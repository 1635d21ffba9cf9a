public import LockstepModel
public import LockstepStore

extension ClickHouseSchema {
    /// The statements that create the tables of sessions. The row with the highest version counts.
    var sessionTables: [String] {
        SessionTable.allCases.map { table in
            let columns = table.columns.map { column in
                let type =
                    switch column.kind {
                    case .text: "String"
                    case .optionalText: "Nullable(String)"
                    case .integer: "Int64"
                    case .optionalInteger: "Nullable(Int64)"
                    case .optionalReal: "Nullable(Float64)"
                    }
                return "\(column.name) \(type)"
            }
            return """
                CREATE TABLE IF NOT EXISTS \(table.received) (\(columns.joined(separator: ", ")), version UInt64)
                ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: table.received))
                ORDER BY (\(table.key))\(storage.clause)
                """
        }
    }

    /// The views of sessions. What belongs to a session that was deleted is not shown.
    var sessionViews: [(name: String, select: String)] {
        SessionTable.allCases.map { table in
            let names = table.columns.map(\.name).joined(separator: ", ")
            let latest =
                "SELECT \(names) FROM \(table.received) ORDER BY \(table.key), version DESC LIMIT 1 BY \(table.key)"
            guard table != .sessions else {
                return (table.rawValue, "SELECT \(names) FROM (\(latest)) WHERE state != 'deleted'")
            }
            let key = "(group_name, session_id)"
            return (
                table.rawValue,
                "SELECT \(names) FROM (\(latest)) WHERE \(key) IN (SELECT group_name, session_id FROM sessions)"
            )
        }
    }
}

extension SessionTable {
    var received: String { "received_" + rawValue }
    fileprivate var key: String { columns.prefix(keyCount).map(\.name).joined(separator: ", ") }
}

extension ClickHouseStore {
    /// Returns the recorded sessions.
    /// - Throws: ``/LockstepStore/StoreError``.
    public func sessions() throws -> [RecordingSession] { try SessionTable.read(client) }

    /// Returns the batch numbers of a device that are committed.
    public func batchNumbers(of device: DeviceAddress) throws -> [Epoch: BatchNumbers] {
        let id = DeviceRecord.id(of: device)
        return try BatchNumbers.read(client, where: "device_id = \(id)")[id] ?? [:]
    }

    /// Inserts what a transaction changes of sessions.
    func insertSessions(of transaction: Transaction) throws(StoreError) {
        let limit = nextVersion()
        try insert(transaction.sessions, markers: transaction.markers) { _ in nextVersion() }
        // After their copies are stored, so that none is lost. Those that are inserted in this transaction stay.
        for (key, ids) in transaction.splits { try deleteMarkers(ids, of: key, below: limit) }
        // No view hides them. If a server is slow, they are in both parts until it has deleted them.
        if !transaction.splits.isEmpty {
            try client.waitForDeletions(from: SessionTable.markers.received, within: .seconds(10))
        }
        // Until the mutations are done, the views hide the rows.
        for session in transaction.sessions where session.state == .deleted {
            let key = "group_name = '\(session.key.group)' AND session_id = '\(session.key.id)'"
            for table in SessionTable.allCases {
                try client.execute("ALTER TABLE \(table.received) DELETE WHERE \(key)")
            }
        }
    }

    /// Lets the server delete all versions of markers below a limit.
    func deleteMarkers(_ ids: [String], of key: RecordingSession.Key, below limit: UInt64 = .max) throws(StoreError) {
        // The server limits the length of a statement to 256 KiB.
        for part in ids.chunks(of: 500) {
            try client.execute(
                """
                ALTER TABLE \(SessionTable.markers.received) DELETE
                WHERE group_name = '\(key.group)' AND session_id = '\(key.id)' AND version < \(limit)
                    AND marker_id IN (\(part.map(literal).joined(separator: ", ")))
                """)
        }
    }

    /// Inserts rows of sessions. Of two rows with the same key, the one with the higher version counts. Sessions come last:
    /// without its session, no marker or device is shown.
    func insert(
        _ sessions: [RecordingSession], markers: [(session: RecordingSession.Key, marker: RecordingSession.Marker)],
        version: (RecordingSession.Key) -> UInt64
    ) throws(StoreError) {
        let devices = sessions.filter { $0.state != .deleted }.flatMap { session in
            SessionTable.deviceRows(of: session).map { ($0, version(session.key)) }
        }
        try insert(devices, into: .devices)
        try insert(markers.map { (SessionTable.row(of: $1, in: $0), version($0)) }, into: .markers)
        try insert(sessions.map { (SessionTable.row(of: $0), version($0.key)) }, into: .sessions)
    }

    private func insert(
        _ rows: [(values: [SessionTable.Value], version: UInt64)], into table: SessionTable
    ) throws(StoreError) {
        guard !rows.isEmpty else { return }
        var bytes = RowBinary()
        for (row, version) in rows {
            for (column, value) in zip(table.columns, row) {
                switch (column.kind, value) {
                case (.text, .text(let text)): bytes.append(text ?? "")
                case (.integer, .integer(let number)): bytes.append(number ?? 0)
                case (_, .text(let text)): bytes.append(text)
                case (_, .integer(let number)): bytes.append(number)
                case (_, .real(let number)): bytes.append(number)
                }
            }
            bytes.append(version)
            bytes.endRow()
        }
        try insert(bytes, into: table.received, table.columns.map(\.name) + ["version"])
    }
}
