import LockstepModel
import LockstepStore

/// Deletes old samples, in whole partitions: this takes milliseconds in every version of ClickHouse. To delete single
/// rows, it would have to write all others again.
struct SampleExpiry {
    let client: ClickHouseClient

    /// Deletes the partitions of all streams in which every sample is older than `age`, in µs.
    ///
    /// The partition of samples before 2020 is kept: devices whose clock was not set have newer samples there. The age is
    /// that by the server's clock or the collector's, whichever is earlier, so that one wrong clock does not delete all.
    func deleteSamples(olderThan age: Int64) throws(StoreError) {
        let server = try client.rows("SELECT toUnixTimestamp(now())").first?[0].flatMap { Int64($0) } ?? 0
        let now = min(Moment.now().wall.microseconds, server * 1_000_000)
        let streams = try StreamDefinitions(client: client).catalog().streams
        let tables = streams.map { "'\($0.receivedTable)'" }.joined(separator: ", ")
        let partitions = try client.rows(
            """
            SELECT DISTINCT table, partition FROM system.parts
            WHERE active AND database = currentDatabase() AND table IN (\(tables))
            """)
        for row in partitions {
            guard let table = row[0], let partition = row[1].flatMap({ Int64($0) }),
                SamplePartition.isExpired(partition, at: now - age)
            else { continue }
            try client.execute("ALTER TABLE \(table) DROP PARTITION \(partition)")
        }
    }
}

/// The partitions of the tables of samples.
enum SamplePartition {
    /// The time span of a partition: a twelfth of a mean year, in µs.
    static let length: Int64 = 2_629_746_000_000
    /// The partition of all samples before 2020, so that devices whose clock is wrong do not create hundreds of partitions.
    static let first: Int64 = 600

    /// Returns whether all samples of a partition are before a time in µs since 1970, and may be deleted.
    static func isExpired(_ partition: Int64, at time: Int64) -> Bool {
        partition > first && (partition + 1) * length <= time
    }
}
