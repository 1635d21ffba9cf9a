public import LockstepModel
import LockstepSQLite

extension SQLiteStore {
    /// Returns the recorded sessions.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func sessions() throws -> [RecordingSession] { try SessionTable.read(SQLiteSource(database)) }

    /// Returns the batch numbers of a device that are committed.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func batchNumbers(of device: DeviceAddress) throws -> [Epoch: BatchNumbers] {
        guard let id = devices.find(device) else { return [:] }
        return try BatchNumbers.read(SQLiteSource(database), where: "device_id = \(id)")[id] ?? [:]
    }

    /// Writes what a group changes of sessions.
    func writeSessions(of group: IngestGroup) throws(SQLiteError) {
        guard !group.sessions.isEmpty || !group.markers.isEmpty || !group.splits.isEmpty else { return }
        // Created with the first session. In a transaction that is rolled back, so is this.
        for table in SessionTable.allCases { try database.execute(table.createInSQLite) }
        for session in group.sessions {
            if session.state == .deleted {
                for table in SessionTable.allCases {
                    let delete = try database.prepare(
                        "DELETE FROM \(table.rawValue) WHERE group_name = ? AND session_id = ?")
                    try delete.bind(session.key.group.rawValue, at: 1)
                    try delete.bind(session.key.id.rawValue, at: 2)
                    try delete.run()
                }
                continue
            }
            try write(SessionTable.row(of: session), to: .sessions)
            for row in SessionTable.deviceRows(of: session) { try write(row, to: .devices) }
        }
        for (key, ids) in group.splits {
            for id in ids {
                let delete = try database.prepare(
                    """
                    DELETE FROM \(SessionTable.markers.rawValue)
                    WHERE group_name = ? AND session_id = ? AND marker_id = ?
                    """)
                try delete.bind(key.group.rawValue, at: 1)
                try delete.bind(key.id.rawValue, at: 2)
                try delete.bind(id, at: 3)
                try delete.run()
            }
        }
        for (key, marker) in group.markers { try write(SessionTable.row(of: marker, in: key), to: .markers) }
    }

    private func write(_ row: [SessionTable.Value], to table: SessionTable) throws(SQLiteError) {
        let columns = table.columns.map(\.name).joined(separator: ", ")
        let values = row.map { _ in "?" }.joined(separator: ", ")
        let insert = try database.prepare(
            "INSERT OR REPLACE INTO \(table.rawValue) (\(columns)) VALUES (\(values))")
        for (index, value) in row.enumerated() {
            switch value {
            case .text(let text): try insert.bind(text, at: index + 1)
            case .integer(let number): try insert.bind(number, at: index + 1)
            case .real(let number): try insert.bind(number, at: index + 1)
            }
        }
        try insert.run()
    }
}

extension StoreReader {
    /// Returns the recorded sessions, in order of their requests.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func sessions() throws(StoreError) -> [RecordingSession] {
        try reading { try SessionTable.read(source) }
    }
}
