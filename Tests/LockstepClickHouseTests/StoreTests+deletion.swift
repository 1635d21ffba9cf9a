import LockstepModel
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClickHouse

// The deletion of old samples and of old rejected messages.
extension StoreTests {
    @Test("rejected messages are stored, and old ones are deleted when the store is opened")
    func rejected() async throws {
        try await withClickHouse { server in
            let store = try open(server)
            var group = IngestGroup()
            for time in [Timestamp(microseconds: 5), Moment.now().wall] {
                group.rejected.append(
                    RejectedMessage(at: time, topic: "a/b", reason: "not JSON", size: 300, head: [0, 9, 10, 255]))
            }
            try store.write(group)
            let select = "SELECT topic, reason, size, hex(head) FROM rejected"
            #expect(try await server.execute(select).count == 2)
            _ = try open(server)
            #expect(try await server.execute(select) == ["a/b\tnot JSON\t300\t00090AFF"])
        }
    }

    @Test(
        "samples leave by the same rules as those of an SQLite store, are known as expired, and late ones are not stored"
    )
    func expired() async throws {
        try await withClickHouse { server in
            let day: Int64 = 86_400_000_000
            let now = Moment.now().wall.microseconds
            // Of each day, and one of a device without a clock.
            let times: [Int64] = [5] + (0..<90).reversed().map { now - $0 * day }
            let address = try ClickHouseAddress(server.url())
            try open(server).write(IngestGroup(batches: [received(times, seq: 1)]))
            // The rule for all streams is the one of the steps.
            let refined = try steps(address, at: now)
            try refined.write([step(at: now - 85 * day, 1), step(at: now - day, 2)])
            try refined.complete(first: now - 90 * day, last: now)
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            let reports = TextLog()
            options.retention.report = { reports.append("\($0)") }
            options.retention.rules = try KeepRules([
                (StreamPattern("*"), 80 * day), (StreamPattern("motion/*"), 10 * day),
                (StreamPattern("lab/one/motion/accelerometer"), 40 * day),
            ])
            let select = "SELECT t FROM accelerometer ORDER BY t"
            // More than half would leave.
            _ = try ClickHouseStore(address, options: options)
            #expect(try await server.execute(select) == times.map(String.init))
            #expect(reports.texts.count == 1 && reports.texts.first?.contains("refused") == true)
            options.retention.isConfirmed = true
            let store = try ClickHouseStore(address, options: options)
            let limit = KeepRules.limit(ofAge: 40 * day, at: now)
            let kept = times.filter { $0 == 5 || $0 >= limit }
            try await expectEventually { try await server.execute(select) == kept.map(String.init) }
            try await expectEventually { try await server.execute("SELECT walk FROM steps_refined") == ["2"] }
            let result = try store.write(IngestGroup(batches: [received([now - 85 * day, now], seq: 2)]))
            #expect(result.devices.values.first == IngestResult.Counts(duplicates: 1, expired: 1))
            let reader = try StoreReader(address)
            let expiry = try #require(try reader.expiries().first)
            #expect(expiry.before == limit && expiry.samples == Int64(times.count - kept.count))
            let comparison = try reader.compare(
                received([now - 85 * day, now], seq: 2).batch.samples, of: expiry.device)
            #expect(comparison.expired == 1 && comparison.missing.isEmpty)
            #expect(try reader.devices().map(\.missing) == [0])
        }
    }

    @Test(
        "old samples are deleted in pieces, and if the server refuses to drop a partition, its rows are deleted",
        .enabled(if: TestClickHouse.isServer, "clickhouse-server is not installed")
    )
    func refusedPartition() async throws {
        try await withClickHouse(settings: "<max_partition_size_to_drop>100000</max_partition_size_to_drop>") {
            server in
            let now = Moment.now().wall.microseconds
            let year: Int64 = 31_556_952_000_000
            let large = (now - 2 * year) / SamplePartition.length * SamplePartition.length
            let problems = TextLog()
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            options.retention.rules = try KeepRules([(StreamPattern("*"), year / 2)])
            options.retention.isConfirmed = true
            options.retention.report = { if case .failed(let reason) = $0 { problems.append(reason) } }
            let store = try ClickHouseStore(ClickHouseAddress(server.url()), options: options)
            #expect(!store.needsMaintenance)
            try store.write(IngestGroup(batches: [received([now - year, now - 1000], seq: 1)]))
            try await server.execute(
                """
                INSERT INTO received_accelerometer (device_id, t, x, y, z, _rank, _values_hash)
                SELECT 1, \(large) + number, rand64(1), rand64(2), 0, 0, rand64(3) FROM numbers(20000)
                """)
            let select = "SELECT count(), min(t) FROM received_accelerometer"
            #expect(try await server.execute(select) == ["20002\t\(large)"])
            store.expiry.lastSearch = nil
            #expect(store.needsMaintenance)
            #expect(try await server.execute(select) == ["20002\t\(large)"])
            // A search, the partitions, and the other rows.
            while store.needsMaintenance { store.performMaintenance() }
            #expect(problems.texts.count == 1 && problems.texts.first?.contains("received_accelerometer") == true)
            try await expectEventually { try await server.execute(select) == ["1\t\(now - 1000)"] }
        }
    }

    @Test(
        "old rejected messages that the server refuses to delete are reported, and the store opens",
        .enabled(if: TestClickHouse.isServer, "clickhouse-server is not installed"))
    func refusedRejections() async throws {
        try await withClickHouse(settings: "<max_partition_size_to_drop>100000</max_partition_size_to_drop>") {
            server in
            _ = try open(server)
            try await server.execute(
                """
                INSERT INTO rejected (at, topic, reason, size, head)
                SELECT if(number = 0, 1500000000000000, 1600000000000000), 'a', toString(rand64()), 1, '' FROM numbers(20000)
                """)
            let problems = TextLog()
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            options.reportMaintenanceProblem = { problems.append("\($0): \($1)") }
            _ = try ClickHouseStore(ClickHouseAddress(server.url()), options: options)
            #expect(problems.texts.count == 1)
            #expect(problems.texts.first?.hasPrefix("cannot delete old rejected messages: ") == true)
            // The small one is deleted.
            #expect(try await server.execute("SELECT count() FROM rejected") == ["19999"])
        }
    }

    @Test("only partitions that end before the time are expired")
    func expiredPartitions() {
        let end = 651 * SamplePartition.length
        #expect(!SamplePartition.isExpired(650, at: end - 1))
        #expect(SamplePartition.isExpired(650, at: end))
        #expect(!SamplePartition.isExpired(600, at: end))
    }
}

/// Texts in the order in which they were reported.
final class TextLog: Sendable {
    private let log = Mutex<[String]>([])

    var texts: [String] { log.withLock { $0 } }

    func append(_ text: String) { log.withLock { $0.append(text) } }
}
