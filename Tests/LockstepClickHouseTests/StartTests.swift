import Dispatch
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClickHouse

/// How a store is opened while other collectors, or a failing network, disturb it.
@Suite("Start with ClickHouse", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct StartTests {
    @Test("collectors that start at the same time on a new database do not disturb each other")
    func together() async throws {
        try await withClickHouse { server in
            for round in 0..<3 {
                let address = try ClickHouseAddress(server.url("new\(round)"))
                try await inParallel(4) { _ in
                    _ = try Self.open(address)
                    // A reader, as the other programs.
                    _ = try StoreReader(address).devices()
                }
            }
            #expect(try await server.execute("SELECT count() FROM lockstep_schema", in: "new0") != ["0"])
        }
    }

    @Test("collectors that start at the same time add the columns that a stream has gained")
    func columns() async throws {
        try await withClickHouse { server in
            let address = try ClickHouseAddress(server.url())
            func catalog(_ columns: [String]) throws -> StreamCatalog {
                let columns = try columns.map { try SensorStream.Column(declaring: $0, kind: .real) }
                return try StreamCatalog(declared: [
                    SensorStream(declaring: "x/air", summary: "Air", columns: columns)
                ])
            }
            _ = try Self.open(address, catalog(["co2"]))
            let new = try catalog(["co2", "no2", "o3"])
            try await inParallel(4) { _ in
                // Another collector may just have removed a view that changes.
                for attempt in 1... {
                    do {
                        _ = try Self.open(address, new)
                        return
                    } catch let error as StoreError { try #require(error.code == .server && attempt < 4, "\(error)") }
                }
            }
            #expect(
                try await server.execute(
                    "SELECT name FROM system.columns WHERE database = 'lockstep' AND table = 'x_air' ORDER BY name")
                    == ["co2", "device_id", "no2", "o3", "t"])
        }
    }

    @Test("a start that was cut at any statement, before or after its execution, is completed by later ones")
    func cut() async throws {
        try await withClickHouse { server in
            let known = Mutex<Set<String>>([])
            let proxy = try LossyProxy(to: server.port) { target, body in
                // Some contain the present time.
                let statement = (target + body).replacing(/\d+/, with: "")
                return known.withLock { known in
                    guard known.insert(statement).inserted else { return .answered }
                    return known.count.isMultiple(of: 2) ? .lost : .answerLost
                }
            }
            func address(_ port: UInt16) throws -> ClickHouseAddress {
                try ClickHouseAddress("clickhouse://127.0.0.1:\(port)/lockstep")
            }
            // Each of the first runs creates the tables, and each of the second ones finds them.
            for minFailures in [80, 15] {
                known.withLock { $0 = [] }
                var failures = 0
                var store: ClickHouseStore?
                while store == nil {
                    do { store = try Self.open(address(proxy.port)) } catch let error as StoreError {
                        // The collector repeats the start for ever: see StorePatience.
                        try #require(error.code == .unreachable && failures < 1000, "\(error)")
                        failures += 1
                    }
                }
                #expect(failures >= minFailures)
            }
            let other = try ClickHouseAddress(server.url("whole"))
            _ = try Self.open(other)
            func tables(_ database: String) async throws -> [String] {
                try await server.execute(
                    "SELECT table, name, type FROM system.columns WHERE database = '\(database)' ORDER BY table, name")
            }
            #expect(try await tables("lockstep") == tables("whole"))
        }
    }

    @Test("collectors that share a database by group leave the devices of others alone, also after a restart")
    func groups() async throws {
        try await withClickHouse { server in
            let address = try ClickHouseAddress(server.url())
            let day: Int64 = 86_400_000_000
            let now = Moment.now().wall.microseconds
            func open(_ group: String, keep: String? = nil) throws -> ClickHouseStore {
                var options = ClickHouseStore.Options()
                options.survivesPowerLoss = false
                options.minInterval = .zero
                options.groups = [GroupID(unchecked: group)]
                if keep != nil { options.retention.rules = try KeepRules([(StreamPattern("*"), 10 * day)]) }
                options.retention.isConfirmed = true
                return try ClickHouseStore(address, options: options)
            }
            func group(_ device: DeviceAddress) -> IngestGroup {
                var block = SampleBlock(stream: .accelerometer)
                for time in [now - 60 * day, now] {
                    block.append(time: Timestamp(microseconds: time), values: [0, 0, 1])
                }
                return IngestGroup(batches: [
                    ReceivedBatch(
                        device: device, batch: Batch(position: nil, samples: block),
                        receivedAt: Timestamp(microseconds: now))
                ])
            }
            let left = DeviceAddress(group: GroupID(unchecked: "left"), device: DeviceID(unchecked: "one"))
            let right = DeviceAddress(group: GroupID(unchecked: "right"), device: DeviceID(unchecked: "one"))
            let first = try open("left")
            try first.write(group(left))
            var request = IngestGroup()
            request.deletions = [
                Deletion(
                    id: "a", device: left, stream: nil, times: 0..<(now - day), at: Timestamp(microseconds: now),
                    who: nil)
            ]
            try first.write(request)
            try open("right").write(group(right))
            let versions = "SELECT count() FROM received_devices WHERE group_name = 'left'"
            let before = try await server.execute(versions)
            // After a restart, it neither carries out the deletion nor writes the other device.
            let second = try open("right", keep: "10d")
            #expect(Array(second.lifecycles().keys) == [right])
            try await expectEventually("its own old sample leaves") {
                while second.needsMaintenance { second.performMaintenance() }
                return try await server.execute("SELECT count() FROM accelerometer") == ["3"]
            }
            second.close()
            let reader = try StoreReader(address)
            #expect(try reader.deletions(of: left).map(\.done) == [nil])
            #expect(try await server.execute(versions) == before)
            // Its own collector does it.
            try await expectEventually("the end of the deletion") {
                while first.needsMaintenance { first.performMaintenance() }
                return try reader.deletions(of: left).first?.done != nil
            }
            first.close()
            #expect(try await server.execute("SELECT count() FROM accelerometer") == ["2"])
            // A store whose devices are taken over has none before.
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            options.ownsDevices = false
            #expect(try ClickHouseStore(address, options: options).lifecycles().isEmpty)
        }
    }

    private static func open(
        _ address: ClickHouseAddress, _ catalog: StreamCatalog = .builtIn
    ) throws(StoreError) -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = false
        return try ClickHouseStore(address, options: options, catalog: catalog)
    }
}

/// Calls a function that blocks on several threads at the same time.
private func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
            group.addTask {
                try await withCheckedThrowingContinuation { continuation in
                    DispatchQueue(label: "collector \(number)").async {
                        continuation.resume(with: Result { try body(number) })
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}
