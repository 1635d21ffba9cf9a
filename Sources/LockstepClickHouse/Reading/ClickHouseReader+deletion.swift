public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func deletions(of device: DeviceAddress?) throws(StoreError) -> [StoredDeletion] {
        guard try hasTable("deletions") else { return [] }
        let addresses = Dictionary(try records().map { ($0.id, $0.address) }) { first, _ in first }
        return try DeletionRecord.readAll(client, of: device.map(DeviceRecord.id), addresses: addresses).map(\.stored)
    }

    public func preview(of deletion: Deletion) throws(StoreError) -> [DeletionDay] {
        let record = DeletionRecord(
            stored: StoredDeletion(deletion: deletion, count: 0, refused: 0, done: nil),
            deviceID: DeviceRecord.id(of: deletion.device))
        var days: [DeletionDay] = []
        for stream in try catalog().streams where deletion.covers(stream) {
            guard try hasTable(of: stream) else { continue }
            let rows = try client.rows(
                """
                SELECT uniqExact(t), min(t), max(t) FROM \(stream.receivedTable) WHERE \(record.condition)
                GROUP BY intDiv(t, 86400000000) AS day ORDER BY day
                """)
            for row in rows {
                let numbers = row.compactMap { $0.flatMap { Int64($0) } }
                guard numbers.count == 3 else { continue }
                days.append(
                    DeletionDay(
                        stream: stream.name, count: numbers[0], first: Timestamp(microseconds: numbers[1]),
                        last: Timestamp(microseconds: numbers[2])))
            }
        }
        return days
    }
}
