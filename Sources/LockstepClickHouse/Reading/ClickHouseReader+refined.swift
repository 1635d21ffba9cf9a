public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func refined(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?, newestOnly: Bool,
        each: (Timestamp, [Double]) throws -> Void
    ) throws {
        guard try hasTable(kind.table) else { return }
        readRefinedTables()
        let names = kind.definitions.map(\.name).joined(separator: ", ")
        var start = from?.microseconds ?? .min
        while true {
            // In parts, so that neither program needs memory for the whole result.
            let rows = try client.rows(
                """
                SELECT t, \(names) FROM \(kind.view)
                WHERE device_id = \(DeviceRecord.id(of: device)) AND t >= \(start) AND t < \(to?.microseconds ?? .max)
                ORDER BY t\(newestOnly ? " DESC LIMIT 1" : " LIMIT \(Self.rowLimit)")
                """)
            var last = start
            for row in rows {
                guard let time = row[0].flatMap({ Int64($0) }) else { throw truncated }
                try each(
                    Timestamp(microseconds: time), row.dropFirst().map { $0.flatMap { Double($0) } ?? .nan })
                last = time
            }
            guard !newestOnly, rows.count == Self.rowLimit, last < .max else { return }
            start = last + 1
        }
    }

    public func refinedRange(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> ClosedRange<Timestamp>? {
        guard try hasTable(kind.table) else { return nil }
        readRefinedTables()
        let row = try client.rows(
            """
            SELECT min(t), max(t), count() FROM \(kind.view) WHERE device_id = \(DeviceRecord.id(of: device))
            AND t >= \(from?.microseconds ?? .min) AND t < \(to?.microseconds ?? .max)
            """
        ).first
        guard let row, row[2] != "0", let first = row[0].flatMap({ Int64($0) }),
            let last = row[1].flatMap({ Int64($0) })
        else { return nil }
        return Timestamp(microseconds: first)...Timestamp(microseconds: last)
    }

    /// Lets reads wait until a replica has the refined data, too.
    private func readRefinedTables() {
        guard !client.readsRefinedTables else { return }
        client.readsRefinedTables = true
        client.requireEverything()
    }
}
