import LockstepModel
import LockstepStore

/// Deletes old samples, in whole partitions: this takes milliseconds in every version of ClickHouse. To delete single
/// rows, it would have to write all others again.
struct SampleExpiry {
    /// The time between two deletions.
    private static let interval = Duration.seconds(3600)

    let client: ClickHouseClient
    /// The age in µs from which samples may be deleted.
    let age: Int64
    /// Receives the text of an error.
    let report: (@Sendable (String) -> Void)?
    /// The time of the last search for expired partitions, or nil if there was none.
    var lastSearch: ContinuousClock.Instant?
    /// The partitions that are still to be dropped.
    private var remaining: [SamplePartition] = []
    /// The partitions whose error was reported; nil stands for the search.
    private var reported: Set<SamplePartition?> = []

    init(client: ClickHouseClient, age: Int64, report: (@Sendable (String) -> Void)?) {
        self.client = client
        self.age = age
        self.report = report
    }

    /// Whether a partition is to be dropped, or a search is due.
    var isDue: Bool {
        guard remaining.isEmpty, let lastSearch else { return true }
        return ContinuousClock.now - lastSearch >= Self.interval
    }

    /// Searches for expired partitions of all streams, or drops one.
    ///
    /// A partition that the server refuses to drop is skipped until the next search. Its error is reported once.
    mutating func performPiece() {
        guard !remaining.isEmpty else {
            lastSearch = .now
            do { remaining = try expiredPartitions() } catch { report(error, of: nil) }
            return
        }
        let partition = remaining.removeFirst()
        do {
            try client.execute("ALTER TABLE \(partition.table) DROP PARTITION \(partition.number)")
        } catch {
            report(error, of: partition)
            // Each attempt would block the store until the time limit of a request.
            if error.code == .unreachable { remaining = [] }
        }
    }

    private func expiredPartitions() throws(StoreError) -> [SamplePartition] {
        let streams = try StreamDefinition.catalog(client).streams
        let tables = streams.flatMap { ["'\($0.receivedTable)'", "'\($0.minuteTable)'"] }.joined(separator: ", ")
        let rows = try client.rows(
            """
            SELECT DISTINCT table, partition, toUnixTimestamp(now()) FROM system.parts
            WHERE active AND database = currentDatabase() AND table IN (\(tables))
            """)
        let server = rows.first?[2].flatMap { Int64($0) } ?? 0
        let partitions = rows.compactMap { row -> SamplePartition? in
            guard let table = row[0], let number = row[1].flatMap({ Int64($0) }) else { return nil }
            return SamplePartition(table: table, number: number)
        }
        let now = min(Moment.now().wall.microseconds, server * 1_000_000)
        return SamplePartition.expired(partitions, olderThan: age, at: now)
    }

    private mutating func report(_ error: StoreError, of partition: SamplePartition?) {
        guard reported.insert(partition).inserted else { return }
        report?("\(error)")
    }
}

/// A partition of a table of samples.
struct SamplePartition: Hashable {
    /// The time span of a partition: a twelfth of a mean year, in µs.
    static let length: Int64 = 2_629_746_000_000
    /// The partition of all samples before 2020, so that devices whose clock is wrong do not create hundreds of partitions.
    static let first: Int64 = 600
    /// The SQL expression of the number of the partition of `t`.
    static let expression = "greatest(intDiv(t, \(length)), \(first))"

    let table: String
    let number: Int64

    /// Returns the partitions in which every sample is older than `age`, in µs, the oldest first.
    ///
    /// The partition of samples before 2020 is kept: devices whose clock was not set have newer samples there. So that a
    /// wrong clock does not delete all, the time is at most the end of the newest partition of all tables.
    /// - Parameter now: the time by the server's clock or the collector's, whichever is earlier, in µs since 1970.
    static func expired(_ partitions: [SamplePartition], olderThan age: Int64, at now: Int64) -> [SamplePartition] {
        guard let newest = partitions.map(\.number).max() else { return [] }
        let time = newest < now / length ? (newest + 1) * length : now
        return partitions.filter { isExpired($0.number, at: time - age) }
            .sorted { ($0.number, $0.table) < ($1.number, $1.table) }
    }

    /// Returns whether all samples of a partition are before a time in µs since 1970, and may be deleted.
    static func isExpired(_ partition: Int64, at time: Int64) -> Bool {
        partition > first && partition < time / length
    }
}
