import Foundation
import LockstepModel
import LockstepStore

/// The envelope of one hour of one device, 360,000 rows in 1,000 buckets, as `lockstep serve` reads it for a plot.
///
/// It is measured in this process, without HTTP and JSON, with a connection that stays open. The reference is the sqlite3
/// shell with `GROUP BY` on the same rows, including its start and its output of 1,000 lines.
struct ServePointsBenchmark {
    let store: QueryStore
    let rounds: Int

    private static let metrics = [
        Metric(name: "time", unit: "ms", digits: 1), Metric(name: "CPU", unit: "ms", digits: 1),
    ]
    private static let points = 1000
    private static let length: Int64 = 3_600_000_000
    /// The number of rows of an hour at 100 Hz.
    private static let rows: Int64 = 360_000

    func run() throws -> [Comparison] {
        let reader = try StoreReader(path: store.path)
        let query = EnvelopeQuery(
            device: DeviceAddress(group: GroupID(unchecked: "bench"), device: DeviceID(unchecked: QueryStore.longest)),
            stream: .accelerometer, from: Timestamp(microseconds: QueryStore.start),
            to: Timestamp(microseconds: QueryStore.start + Self.length), points: Self.points)
        // Opens the connections and reads the rows into the cache of the operating system.
        try check(reader.envelope(query))
        return try compare(
            "serve-points", Self.metrics, rounds: rounds,
            [
                Contender(name: "envelope in the library") {
                    let cpu = cpuTime()
                    let begin = ContinuousClock.now
                    let envelope = try reader.envelope(query)
                    let elapsed = (ContinuousClock.now - begin) / .milliseconds(1)
                    try check(envelope)
                    return [elapsed, (cpuTime() - cpu) * 1e3]
                },
                Contender(name: "sqlite3, GROUP BY") {
                    let effort = try Launched.time(
                        Launched.beside("run-measured"), ["sqlite3", "-readonly", "-csv", store.path, Self.sql])
                    return [effort.seconds * 1e3, effort.cpu * 1e3]
                },
            ])
    }

    /// The query of the reference. It reads the table, which is faster than the view.
    private static var sql: String {
        """
        SELECT (t - \(QueryStore.start)) / \(length / Int64(points)) AS bucket, count(*), min(x), max(x), min(y), max(y),
            min(z), max(z)
        FROM accelerometer
        WHERE device_id = 1 AND t >= \(QueryStore.start) AND t < \(QueryStore.start + length) GROUP BY bucket
        """
    }

    private func check(_ envelope: Envelope) throws {
        let rows = envelope.buckets.reduce(0) { $0 + $1.samples }
        guard envelope.buckets.count == Self.points, rows == Self.rows else {
            throw Failure("the envelope has \(envelope.buckets.count) buckets of \(rows) rows: delete \(store.path)")
        }
    }

    /// The CPU time of all threads of this process, in s.
    private func cpuTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
