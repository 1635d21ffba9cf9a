import LockstepStore

// Notifications of stores of earlier versions, which have no device.

extension ClickHouseSchema {
    /// Lets `received_deliveries` of earlier versions have the device in the key.
    func updateDeliveries(_ client: ClickHouseClient) throws(StoreError) {
        guard try !Self.hasDevicesOfDeliveries(client) else { return }
        do {
            try client.execute(
                """
                ALTER TABLE received_deliveries ADD COLUMN device_id Int64, MODIFY ORDER BY (delivery_id, device_id)
                """)
        } catch {
            // Another program may have done it at the same time.
            guard try Self.hasDevicesOfDeliveries(client) else { throw error }
        }
    }

    /// Returns whether `received_deliveries` has the device.
    static func hasDevicesOfDeliveries(_ client: ClickHouseClient) throws(StoreError) -> Bool {
        try !client.rows(
            """
            SELECT name FROM system.columns
            WHERE database = currentDatabase() AND table = 'received_deliveries' AND name = 'device_id'
            """
        ).isEmpty
    }

    /// Stores the rows about notifications that an earlier version of Lockstep has written again, with their devices. It may
    /// still be used by another collector. Rows that are stored again already are left out.
    /// - Returns: the number of rows that were stored.
    @discardableResult
    static func adoptDeliveries(_ client: ClickHouseClient) throws(StoreError) -> Int {
        let old = try client.rows("SELECT count() FROM received_deliveries WHERE device_id = 0").first?[0]
        guard old != "0" else { return 0 }
        let columns = deliveryColumns.dropLast().joined(separator: ", ")
        var reader = RowBinaryReader(
            try client.binary(
                """
                SELECT \(columns), owner
                FROM (
                    SELECT \(columns), if(subject = 0, toInt64(\(noDevice)), subject) AS owner
                    FROM (SELECT \(columns) FROM received_deliveries WHERE device_id = 0)
                    ALL INNER JOIN (SELECT event_id, any(device_id) AS subject FROM received_events GROUP BY event_id)
                    USING event_id
                )
                ANY LEFT JOIN (
                    SELECT delivery_id, device_id AS owner, max(version) AS adopted, count() AS copies
                    FROM received_deliveries WHERE device_id != 0 GROUP BY delivery_id, owner
                ) USING delivery_id, owner
                WHERE ifNull(copies, 0) = 0 OR adopted < version
                """))
        var rows = RowBinary()
        do {
            while !reader.isAtEnd {
                rows.append(try reader.integer())
                rows.append(try reader.integer())
                rows.append(try reader.text())
                rows.append(try reader.text())
                rows.append(try reader.integer())
                rows.append(try reader.integer())
                rows.append(try reader.isNull() ? nil : try reader.text())
                rows.append(try reader.unsigned())
                rows.append(try reader.integer())
                rows.endRow()
            }
        } catch { throw StoreError(.corrupt, "the server sent an incomplete row of received_deliveries") }
        guard !rows.isEmpty else { return 0 }
        try client.insert(rows.bytes, into: "received_deliveries", columns: deliveryColumns)
        return rows.count
    }
}
