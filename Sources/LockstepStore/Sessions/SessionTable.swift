import FoundationEssentials
package import LockstepModel

/// The tables of recorded sessions, once for all kinds of stores. The columns of the key come first.
package enum SessionTable: String, CaseIterable, Sendable {
    case sessions
    case devices = "session_devices"
    case markers

    /// The type of a column.
    package enum Kind: Sendable { case text, optionalText, integer, optionalInteger, optionalReal }

    /// A value of a row.
    package enum Value: Hashable, Sendable {
        case text(String?)
        case integer(Int64?)
        case real(Double?)
    }

    /// A column with its meaning.
    package struct Column: Sendable {
        package let name: String
        package let kind: Kind
        let comment: String

        init(_ name: String, _ kind: Kind, _ comment: String = "") {
            self.name = name
            self.kind = kind
            self.comment = comment
        }
    }

    /// The number of columns of the key.
    package var keyCount: Int { self == .sessions ? 2 : 3 }

    package var columns: [Column] {
        let key = [Column("group_name", .text), Column("session_id", .text)]
        switch self {
        case .sessions:
            return key + [
                Column("name", .text),
                Column("state", .text, "preparing, armed, recording, stopping, complete, incomplete"),
                Column(
                    "created", .integer, "time of the request, in µs since 1970-01-01 UTC, on the collector's clock"),
                Column("start_t", .optionalInteger, "start (inclusive) and end (exclusive) on the collector's clock"),
                Column("end_t", .optionalInteger), Column("rates", .text, "asked rates by stream, as JSON"),
                Column("labels", .text, "as JSON"), Column("note", .optionalText),
                Column("clock_bound", .optionalInteger, "asked limit of the error of clocks, in µs"),
                Column("duration", .optionalInteger, "time after which it stops by itself, in µs"),
                Column("patience", .integer, "time that devices have to become ready, in µs"),
                Column("every_device", .integer, "1 if further devices of the group become part of it"),
            ]
        case .devices:
            return key + [
                Column("device", .text), Column("joined", .integer),
                Column("has_samples", .integer, "1 if a sample from the start on was received"),
                Column("problem", .optionalText, "why it is not ready or not complete"),
                Column("clock_bound", .optionalInteger, "largest possible error of its time, in µs"),
                Column("on_its_way", .integer, "batches that the device still has"),
                Column("missing", .integer, "batches that will never be stored"),
                Column("first_numbers", .optionalText, "number of the first batch by epoch, as JSON"),
                Column("last_numbers", .optionalText, "number of the last batch by epoch, as JSON"),
                Column("calibration", .optionalText, "of accelerometer and gyroscope, as JSON"),
            ]
        case .markers:
            return key + [
                Column("marker_id", .text), Column("t", .integer, "in µs since 1970-01-01 UTC"),
                Column("clock", .text, "client, or arrival: the collector's, when the marker arrived"),
                Column("text", .text), Column("device", .optionalText), Column("value", .optionalReal),
                Column("duration", .optionalInteger, "length of an interval, in µs"),
            ]
        }
    }

    /// The statement that creates the table in SQLite.
    var createInSQLite: String {
        let lines = columns.map { column in
            let type =
                switch column.kind {
                case .text: "TEXT NOT NULL"
                case .optionalText: "TEXT"
                case .integer: "INTEGER NOT NULL"
                case .optionalInteger: "INTEGER"
                case .optionalReal: "REAL"
                }
            return "    \(column.name) \(type),\(column.comment.isEmpty ? "" : " -- \(column.comment)")\n"
        }
        let summary =
            switch self {
            case .sessions: "Recordings of several devices of a group."
            case .devices: "The devices of sessions."
            case .markers: "Points and intervals of time in sessions."
            }
        let key = columns.prefix(keyCount).map(\.name).joined(separator: ", ")
        return """
            CREATE TABLE IF NOT EXISTS \(rawValue) (
                -- \(summary)
            \(lines.joined())    PRIMARY KEY (\(key))
            ) WITHOUT ROWID
            """
    }

    // MARK: Rows

    package static func row(of session: RecordingSession) -> [Value] {
        key(session.key) + [
            .text(session.name), .text(session.state.rawValue), .integer(session.created.microseconds),
            .integer(session.start?.microseconds), .integer(session.end?.microseconds), .text(json(session.rates)),
            .text(json(session.labels)), .text(session.note), .integer(session.clockBound), .integer(session.length),
            .integer(session.patience), .integer(session.includesGroup ? 1 : 0),
        ]
    }

    /// Returns the rows of the devices of a session.
    package static func deviceRows(of session: RecordingSession) -> [[Value]] {
        session.devices.sorted { $0.key < $1.key }.map { id, device in
            key(session.key) + [
                .text(id.rawValue), .integer(device.joined.microseconds), .integer(device.hasSamples ? 1 : 0),
                .text(device.problem), .integer(device.clockBound), .integer(device.onItsWay),
                .integer(device.missing), .text(device.firstNumbers.map(json)), .text(device.lastNumbers.map(json)),
                .text(device.calibration),
            ]
        }
    }

    package static func row(of marker: RecordingSession.Marker, in session: RecordingSession.Key) -> [Value] {
        key(session) + [
            .text(marker.id), .integer(marker.time.microseconds), .text(marker.clock.rawValue), .text(marker.text),
            .text(marker.device?.rawValue), .real(marker.value), .integer(marker.duration),
        ]
    }

    private static func key(_ key: RecordingSession.Key) -> [Value] {
        [.text(key.group.rawValue), .text(key.id.rawValue)]
    }

    /// Reads the sessions of a store, in order of their requests; nothing if there never was one.
    package static func read(_ source: any StoreSource) throws(StoreError) -> [RecordingSession] {
        guard try source.integer(source.dialect.sessionTables) > 0 else { return [] }
        func select(_ table: Self) -> String {
            "SELECT \(table.columns.map(\.name).joined(separator: ", ")) FROM \(table.rawValue)"
        }
        func key(_ row: any StoreRow) -> RecordingSession.Key {
            .init(
                group: GroupID(unchecked: row.text(at: 0) ?? ""), id: SessionID(unchecked: row.text(at: 1) ?? ""))
        }
        var sessions: [RecordingSession.Key: RecordingSession] = [:]
        for session in try source.rows(
            select(.sessions),
            { row throws(StoreError) in
                var session = RecordingSession(
                    key: key(row), name: row.text(at: 2) ?? "", created: Timestamp(microseconds: row.int64(at: 4)))
                session.state = row.text(at: 3).flatMap(RecordingSession.State.init) ?? .incomplete
                session.start = timestamp(row, at: 5)
                session.end = timestamp(row, at: 6)
                session.rates = value(row.text(at: 7)) ?? [:]
                session.labels = value(row.text(at: 8)) ?? [:]
                session.note = row.text(at: 9)
                session.clockBound = row.optionalInt64(at: 10)
                session.length = row.optionalInt64(at: 11)
                session.patience = row.int64(at: 12)
                session.includesGroup = row.int64(at: 13) != 0
                return session
            })
        { sessions[session.key] = session }
        for (key, id, device) in try source.rows(
            select(.devices),
            { row throws(StoreError) in
                var device = RecordingSession.Device(joined: Timestamp(microseconds: row.int64(at: 3)))
                device.hasSamples = row.int64(at: 4) != 0
                device.problem = row.text(at: 5)
                device.clockBound = row.optionalInt64(at: 6)
                device.onItsWay = row.int64(at: 7)
                device.missing = row.int64(at: 8)
                device.firstNumbers = numbers(row.text(at: 9))
                device.lastNumbers = numbers(row.text(at: 10))
                device.calibration = row.text(at: 11)
                return (key(row), DeviceID(unchecked: row.text(at: 2) ?? ""), device)
            })
        { sessions[key]?.devices[id] = device }
        for (key, marker) in try source.rows(
            select(.markers),
            { row throws(StoreError) in
                let value = row.double(at: 7)
                return (
                    key(row),
                    RecordingSession.Marker(
                        id: row.text(at: 2) ?? "", time: Timestamp(microseconds: row.int64(at: 3)),
                        clock: row.text(at: 4).flatMap(RecordingSession.Marker.Clock.init) ?? .arrival,
                        text: row.text(at: 5) ?? "", device: row.text(at: 6).map(DeviceID.init(unchecked:)),
                        value: value.isNaN ? nil : value, duration: row.optionalInt64(at: 8))
                )
            })
        { sessions[key]?.markers.append(marker) }
        return sessions.values.map { session in
            var session = session
            session.markers.sort { ($0.time, $0.id) < ($1.time, $1.id) }
            return session
        }.sorted { ($0.created, $0.key.id) < ($1.created, $1.key.id) }
    }

    // MARK: JSON

    private static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private static func json(_ numbers: [Epoch: Int64]) -> String {
        json(Dictionary(uniqueKeysWithValues: numbers.map { ($0.rawValue, $1) }))
    }

    private static func value<Value: Decodable>(_ json: String?) -> Value? {
        json.flatMap { try? JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }

    private static func numbers(_ json: String?) -> [Epoch: Int64]? {
        let numbers: [String: Int64]? = value(json)
        return numbers.map { Dictionary(uniqueKeysWithValues: $0.map { (Epoch(unchecked: $0), $1) }) }
    }
}
