public import LockstepClickHouse
public import LockstepModel
public import LockstepStore

extension TestClickHouse {
    /// Opens a store on the server, without the wait for its disk that old servers do not support.
    public func store(_ database: String = "lockstep") throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = false
        return try ClickHouseStore(ClickHouseAddress(url(database)), options: options)
    }

    /// Writes a group to a store on the server, and closes it.
    public func write(_ group: IngestGroup) throws {
        let store = try store()
        try store.write(group)
        store.close()
    }
}

extension SampleBlock {
    /// Returns samples of any stream at `times` after `start`, in µs, with unknown values and values that repeat.
    /// - Parameter period: the number of samples after which values repeat.
    public static func patterned(
        _ stream: SensorStream, start: Int64, _ times: [Int64], from value: Double, period: Int = .max
    ) -> SampleBlock {
        SampleBlock(
            stream: stream, times: times.map { start + $0 },
            columns: stream.columns.map { column in
                times.indices.map { index in
                    if !column.isRequired, index % 5 == 4 { return .nan }
                    if column.isTime { return Double(start) }
                    return column.kind.words == nil ? value + Double(index % period) / 8 : 0
                }
            })
    }
}
