import LockstepModel
import LockstepStore

extension StreamDefinition {
    /// Adds or updates the definitions of `streams`.
    /// - Throws: ``/LockstepStore/StoreError`` if a stream differs from the stored one.
    static func register(_ streams: [SensorStream], in client: ClickHouseClient) throws(StoreError) {
        var rows = RowBinary()
        for (stream, definition, _) in try changes(to: streams, in: client) {
            rows.append(stream.name)
            rows.append(stream.table)
            rows.append(definition)
            rows.append(UInt64(clamping: Moment.now().wall.microseconds))
            rows.endRow()
        }
        guard !rows.isEmpty else { return }
        try client.insert(rows.bytes, into: "streams", columns: ["name", "table_name", "definition", "at"])
    }
}
