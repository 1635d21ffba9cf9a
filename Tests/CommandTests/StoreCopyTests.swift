import LockstepClickHouse
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("Copy of a store", .enabled(if: TestClickHouse.isInstalled, "clickhouse-server is not installed"))
struct StoreCopyTests {
    @Test("batch numbers are copied only if no sample is missing")
    func incomplete() async throws {
        try await withStore { path in
            try await withClickHouse { server in
                let source = try StoreReader(path: path)
                let target = try open(server.url())
                _ = try open(server.url("empty"))
                // The hour differs, so that its samples are looked up.
                try target.insert(
                    block([1_700_000_000_020_000], x: [1]),
                    of: DeviceAddress(group: .standard, device: DeviceID(unchecked: "left")))

                var copy = StoreCopy(
                    source: source, target: target, check: try ClickHouseReader(ClickHouseAddress(server.url("empty")))
                ) { _, _, _ in }
                let report = try copy.run()
                #expect(report.missing == 2)
                #expect(try await server.execute("SELECT count() FROM batches") == ["0"])
                #expect(try await server.execute("SELECT count() FROM states") == ["1"])

                var again = StoreCopy(
                    source: source, target: target, check: try ClickHouseReader(ClickHouseAddress(server.url()))
                ) { _, _, _ in }
                #expect(try again.run().isComplete)
                #expect(
                    try await server.execute("SELECT first, last FROM batches ORDER BY first") == ["1\t1", "3\t3"])
            }
        }
    }

    private func open(_ url: String) throws -> CopyTarget {
        try CopyTarget(ClickHouseAddress(url), survivesPowerLoss: false, quorum: nil, catalog: .builtIn)
    }
}
