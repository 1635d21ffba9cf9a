import LockstepSQLite

@testable import LockstepModel
@testable import LockstepStore

/// The content of a store as its documented names show it, in a form that is easy to compare.
struct StoreContent: Equatable {
    /// The lines `device|t|values` of each stream, ordered by device and time.
    var streams: [String: String] = [:]
    /// The lines `device|samples|duplicates|conflicts|first_seen|last_seen|last_t`, ordered by device.
    var devices = ""
    /// The received batch numbers by device and epoch: `one e`.
    var batches: [String: SequenceSet] = [:]
    /// The lines `device|stream|t|received`, ordered.
    var conflicts = ""
    /// The lines `device|t|offset|skew` of estimates of clocks, ordered.
    var clocks = ""

    /// Returns a description of the first difference from the expected content, or nil if there is none.
    func difference(from expected: StoreContent) -> String? {
        for (stream, lines) in expected.streams {
            if let difference = Self.difference(streams[stream] ?? "", lines) { return "\(stream): \(difference)" }
        }
        if let difference = Self.difference(devices, expected.devices) { return "devices: \(difference)" }
        if let difference = Self.difference(conflicts, expected.conflicts) { return "conflicts: \(difference)" }
        if let difference = Self.difference(clocks, expected.clocks) { return "clocks: \(difference)" }
        guard batches != expected.batches else { return nil }
        let keys = Set(batches.keys).union(expected.batches.keys).sorted()
        let key = keys.first { batches[$0] != expected.batches[$0] } ?? ""
        return "batches of \(key): \(batches[key] ?? []) instead of \(expected.batches[key] ?? [])"
    }

    private static func difference(_ found: String, _ expected: String) -> String? {
        guard found != expected else { return nil }
        let (found, expected) = (found.split(separator: "\n"), expected.split(separator: "\n"))
        let index = zip(found, expected).prefix { $0 == $1 }.count
        return "line \(index) is \(index < found.count ? found[index] : "missing") instead of "
            + "\(index < expected.count ? expected[index] : "missing"), "
            + "\(found.count) lines instead of \(expected.count)"
    }
}

extension SQLiteDatabase {
    /// Reads the content of a store through the views. SQLite formats the lines, which is faster in debug builds.
    func content(of streams: [SensorStream]) throws -> StoreContent {
        var content = StoreContent()
        for stream in streams where try integer("SELECT count(*) FROM sqlite_schema WHERE name = '\(stream.table)'") > 0
        {
            let values = stream.columns.map { "'|' || ifnull(sample.\($0.name), '-')" }.joined(separator: " || ")
            content.streams[stream.name] = try lines(
                """
                SELECT device || '|' || (t - \(start)) || \(values) AS line
                FROM \(stream.table) AS sample JOIN _devices USING (device_id) ORDER BY device, t
                """)
        }
        let figures = ["first_seen", "last_seen", "last_t"].map { "ifnull(\($0) - \(start), '-')" }
        content.devices = try lines(
            """
            SELECT device || '|' || samples || '|' || duplicates || '|' || conflicts || '|'
                || \(figures.joined(separator: " || '|' || ")) AS line
            FROM devices ORDER BY device
            """)
        content.conflicts = try lines(
            """
            SELECT device || '|' || stream || '|' || (t - \(start)) || '|' || received AS line
            FROM conflicts JOIN _devices USING (device_id) ORDER BY line
            """)
        content.clocks = try lines(
            """
            SELECT device || '|' || (t - \(start)) || '|' || offset || '|' || skew AS line
            FROM clocks JOIN _devices USING (device_id) ORDER BY line
            """)
        let select = try prepare("SELECT device, epoch, first, last FROM batches JOIN _devices USING (device_id)")
        while try select.step() {
            let key = "\(select.text(at: 0) ?? "") \(select.text(at: 1) ?? "")"
            content.batches[key, default: []].insert(select.int64(at: 2)...select.int64(at: 3))
        }
        return content
    }

    private func lines(_ select: String) throws -> String {
        try text("SELECT group_concat(line, char(10)) FROM (\(select))") ?? ""
    }
}
