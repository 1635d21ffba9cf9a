import Glibc
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClickHouse

@Suite(
    "Replicated store in ClickHouse",
    .enabled(if: TestReplicas.areInstalled, "clickhouse-server or zookeeper is not installed"), .serialized)
struct ReplicaTests {
    @Test("an acknowledged sample is on both replicas, and without one of them nothing is acknowledged")
    func twoReplicas() async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            let store = try open(address)
            try store.write(batch(1))
            for server in replicas.servers {
                #expect(try await server.execute("SELECT t FROM accelerometer") == ["1"])
                #expect(try await server.execute("SELECT group_name, device FROM devices") == ["lab\tone"])
            }

            // Readers and the store fail over to the replica that is left, but the quorum of two is not met.
            await replicas.servers[0].stop(SIGKILL)
            #expect(try samples(address) == [1])
            let error = failure { _ = try store.write(batch(2)) }
            #expect(error?.code == .unreachable)
            #expect(failure { _ = try open(address) } != nil)

            try await replicas.servers[0].start()
            let again = await eventually { (try? store.write(batch(2))) != nil }
            #expect(again)
            #expect(try store.write(batch(3)).received[scope] == SequenceSet([1...3]))
            for replica in address.replicas { #expect(try samples(replica) == [1, 2, 3]) }
            let reopened = try open(address)
            #expect(try reopened.write(batch(3)).devices[device] == IngestResult.Counts(duplicates: 1))
        }
    }

    @Test(
        "a start from which a replica is cut off after any number of requests succeeds, or is repeated until it is back",
        arguments: [(0, Quorum.replicas(1)), (1, .majority)])
    func cutStart(replica index: Int, quorum: Quorum) async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            // The number of requests until the cut; nil for no cut.
            let left = Mutex(Int?.none)
            let proxy = try LossyProxy(to: replicas.servers[index].port) { _, _ in
                left.withLock { left in
                    guard let count = left else { return .answered }
                    left = max(0, count - 1)
                    return count > 0 ? .answered : .lost
                }
            }
            var ports = replicas.servers.map(\.port)
            ports[index] = proxy.port
            let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
            // Only the first start of a database makes more than about 20 requests, and its tables take seconds.
            for (requests, database) in [(60, "a"), (100, "b"), (0, "b"), (2, "b"), (5, "b"), (20, "b")] {
                let address = try ClickHouseAddress("clickhouse://\(hosts)/\(database)")
                left.withLock { $0 = requests }
                // Anything but this error ends a collector after a few seconds.
                let error = failure { _ = try open(address, quorum: quorum) }
                #expect(error == nil || error?.code == .unreachable, "\(quorum), \(requests): \(error as Any)")
                left.withLock { $0 = nil }
                let opens = await eventually { (try? open(address, quorum: quorum)) != nil }
                #expect(opens, "\(quorum), \(requests)")
            }
        }
    }

    @Test("a table that a replica lacks, because its first start was interrupted, is created at the next start")
    func missingTable() async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            try open(address).write(batch(1))
            _ = try await replicas.servers[1].execute("DROP TABLE received_deliveries")
            try open(address).write(batch(2))
            #expect(try await replicas.servers[1].execute("EXISTS TABLE received_deliveries") == ["1"])
            for replica in address.replicas { #expect(try samples(replica) == [1, 2]) }
        }
    }

    @Test(
        "rules on two replicas: while one is killed nothing is lost, and each event is recorded once",
        arguments: [0, 1])
    func rules(killed index: Int) async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let tests = RuleTests()
            let left = tests.device("left")
            let address = try ClickHouseAddress(replicas.url())
            var store = try open(address)
            try tests.observe(store)
            try store.write(tests.group(0, of: left))
            await replicas.servers[index].stop(SIGKILL)
            // The row with the events may be stored on the replica that is left, although its quorum is not met.
            #expect(failure { try store.write(tests.group(1, of: left)) }?.code == .unreachable)
            try await replicas.servers[index].start()
            let opens = await eventually {
                guard let next = try? open(address) else { return false }
                store = next
                return true
            }
            try #require(opens)
            try tests.observe(store)
            let earlier = try store.pendingDeliveries()
            var announced: [EventDelivery] = []
            for number in 1..<4 {
                let isStored = await eventually {
                    guard let result = try? store.write(tests.group(number, of: left)) else { return false }
                    announced += result.deliveries
                    return true
                }
                try #require(isStored)
            }
            for replica in address.replicas {
                let reader = try StoreReader(replica)
                let events = try reader.events(
                    of: left, limit: .max)
                #expect(events.count == 7 && Set(events.map(\.key)).count == 7)
                #expect(try reader.deliveries(.pending).count == 10)
            }
            #expect(Set((earlier + announced).map(\.id)).count == 10)
        }
    }

    @Test(
        "with three replicas, the store goes on while one is killed, and nothing acknowledged is missing or shown twice"
    )
    func killed() async throws {
        try await withReplicas(3) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            let writer = Writer()
            let task = Task.detached { try writer.run(address) }
            for index in [0, 1] {
                let isWriting = await writer.makesProgress()
                #expect(isWriting)
                await replicas.servers[index].stop(SIGKILL)
                let continues = await writer.makesProgress()
                #expect(continues)
                // A read that starts now must see all of these, whichever replica answers.
                let expected = Set(writer.acknowledged)
                let found = try samples(address)
                #expect(expected.isSubset(of: found))
                try await replicas.servers[index].start()
            }
            writer.stop()
            try await task.value
            let expected = writer.acknowledged
            for replica in address.replicas {
                var found: [Int64] = []
                // A replica that was away refuses to be read until it has everything.
                let isRead = await eventually {
                    found = (try? samples(replica)) ?? []
                    return !found.isEmpty
                }
                #expect(isRead)
                // The last one may be stored though its commit failed.
                #expect(Array(found.prefix(expected.count)) == expected && found.count <= expected.count + 1)
            }
        }
    }

    @Test("while the keeper is away, nothing is acknowledged and no replica is read; then both go on")
    func keeper() async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            let store = try open(address)
            try store.write(batch(1))
            await replicas.stopKeeper()
            #expect(failure { _ = try store.write(batch(2)) } != nil)
            #expect(failure { _ = try samples(address) } != nil)
            try await replicas.startKeeper()
            let again = await eventually { (try? store.write(batch(2))) != nil }
            #expect(again)
            #expect(try samples(address) == [1, 2])
        }
    }

    @Test(
        "while the disk of one of two replicas is full, nothing is acknowledged and nothing is lost; then both go on",
        .enabled("file systems cannot be mounted") { await SmallDisk.isAvailable() })
    func fullDisk() async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let server = replicas.servers[1]
            await server.stop()
            try await SmallDisk.with(at: server.dataFolder, kilobytes: 32_768) {
                try await server.start()
                let address = try ClickHouseAddress(replicas.url())
                let store = try open(address)
                store.client.retryTime = .seconds(1)
                try store.write(batch(1))
                let filler = server.dataFolder + "/filler"
                SmallDisk.fill(filler)
                #expect(failure { _ = try store.write(batch(2)) } != nil)
                #expect(try samples(address.replicas[1]) == [1])
                unlink(filler)
                let again = await eventually { (try? store.write(batch(2))) != nil }
                #expect(again)
                for replica in address.replicas { #expect(try samples(replica) == [1, 2]) }
                await server.stop(SIGKILL)
            }
        }
    }

    @Test(
        "a replica without a keeper or a name, and tables that are not what was asked for, are refused with the reason")
    func refused() async throws {
        try await withClickHouse { server in
            let address = try ClickHouseAddress(server.url())
            let noName = failure { _ = try open(address) }
            #expect(noName?.description.contains("no macro 'replica'") == true)
            _ = try open(address, quorum: nil)
            var two = address
            two.servers += try ClickHouseAddress("clickhouse://127.0.0.1:1/lockstep").servers
            let hosts = failure { _ = try open(two, quorum: nil) }
            #expect(hosts?.description.contains("--quorum majority") == true)
            let reader = failure { _ = try StoreReader(two) }
            #expect(reader?.description.contains("not replicated") == true)
        }
        try await withClickHouse(settings: "<macros><replica>a</replica></macros>") { server in
            let address = try ClickHouseAddress(server.url())
            let noKeeper = failure { _ = try open(address) }
            #expect(noKeeper?.description.contains("<zookeeper>") == true)
            let other = try ClickHouseAddress(server.url("other"))
            _ = try open(other, quorum: nil)
            let plain = failure { _ = try open(other) }
            #expect(plain?.description.contains("not replicated") == true)
        }
        try await withReplicas(1) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            let number = failure { _ = try open(address, quorum: .replicas(2)) }
            #expect(number?.description.contains("--quorum 2 needs at least 2 hosts, but the address has 1") == true)
            _ = try open(address)
            let plain = failure { _ = try open(address, quorum: nil) }
            #expect(plain?.description.contains("are replicated") == true)
        }
    }

    @Test("refined data is held by a majority, and a part of it on a replica that is away does not stop readers")
    func refined() async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            try open(address).write(batch(1))
            let run = try steps(address, at: 1)
            try run.write([step(at: 5, 1)])
            try run.complete(first: 0, last: 9)
            for server in replicas.servers {
                #expect(try await server.execute("SELECT t, walk FROM steps_refined") == ["5\t1"])
            }

            await replicas.servers[1].stop(SIGKILL)
            let alone = failure { try steps(address, at: 2).complete(first: 0, last: 9) }
            #expect(alone?.code == .unreachable)
            // A row that was inserted without a quorum.
            try await replicas.servers[0].execute("INSERT INTO steps_refined_rows (device_id, t) VALUES (1, 1)")
            await replicas.servers[0].stop(SIGKILL)
            try await replicas.servers[1].start()
            let isReadable = await eventually { (try? samples(address)) == [1] }
            #expect(isReadable)
        }
    }

    @Test("old partitions are deleted on both replicas, which can be read afterwards")
    func retention() async throws {
        try await withReplicas(2) { replicas in
            try await waitForKeeper(replicas)
            let address = try ClickHouseAddress(replicas.url())
            let now = Moment.now().wall.microseconds
            let old = now - 3 * SamplePartition.length
            let store = try open(address)
            try store.write(group([old], seq: 1))
            try store.write(group([now], seq: 2))
            var options = options(.majority)
            options.retention.rules = try KeepRules([(StreamPattern("*"), SamplePartition.length)])
            options.retention.isConfirmed = true
            store.close()
            _ = try ClickHouseStore(address, options: options)
            for replica in address.replicas { #expect(try samples(replica) == [now]) }
        }
    }
}

@Suite("Quorums")
struct QuorumTests {
    @Test("a quorum is a majority, or a number from 1 to 9")
    func parsed() {
        #expect(Quorum("majority") == .majority && Quorum("2") == .replicas(2))
        for text in ["", "0", "10", "all", "-1"] { #expect(Quorum(text) == nil) }
        let counts = [1, 2, 3, 4, 5]
        #expect(counts.map(Quorum.majority.number) == [1, 2, 2, 3, 3])
    }

    @Test(
        "an insert waits for another one, and a request fails over when another replica may answer it",
        arguments: [
            (286, FailedRequest.wait), (285, .failOver), (319, .failOver), (242, .failOver), (243, .failOver),
            (62, .fail),
        ])
    func failed(code: Int, action: FailedRequest) {
        #expect(FailedRequest(ClickHouseException("Code: \(code), e.displayText() = DB::Exception: x")) == action)
    }
}

/// Writes one sample after the other until it is stopped.
private final class Writer: Sendable {
    private let times = Mutex<[Int64]>([])
    private let isStopped = Mutex(false)

    /// The samples whose commit succeeded.
    var acknowledged: [Int64] { times.withLock { $0 } }

    func run(_ address: ClickHouseAddress) throws {
        let store = try open(address)
        var seq: Int64 = 1
        while !isStopped.withLock({ $0 }) {
            // A failed commit is repeated, as by an agent that got no acknowledgement.
            guard (try? store.write(batch(seq))) != nil else { continue }
            times.withLock { $0.append(seq) }
            seq += 1
        }
    }

    func stop() { isStopped.withLock { $0 = true } }

    /// Returns whether some more samples are acknowledged.
    func makesProgress() async -> Bool {
        let before = acknowledged.count
        return await eventually { self.acknowledged.count > before + 3 }
    }
}

private let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
private let scope = DeviceEpoch(device: device, epoch: Epoch(unchecked: "e"))

private func options(_ quorum: Quorum?) -> ClickHouseStore.Options {
    var options = ClickHouseStore.Options()
    options.survivesPowerLoss = false
    options.minInterval = .zero
    options.quorum = quorum
    return options
}

private func open(_ address: ClickHouseAddress, quorum: Quorum? = .majority) throws -> ClickHouseStore {
    try ClickHouseStore(address, options: options(quorum))
}

/// Waits until each server has a session with the keeper. ZooKeeper listens before it answers.
private func waitForKeeper(_ replicas: TestReplicas) async throws {
    for server in replicas.servers {
        let isReady = await eventually {
            let rows = try? await server.execute("SELECT count() FROM system.zookeeper WHERE path = '/'", in: "default")
            return rows != nil
        }
        try #require(isReady)
    }
}

/// Returns the error that `body` throws, or nil. It replaces `#expect(throws:)`, see ``TemporaryFolder``.
private func failure(_ body: () throws -> Void) -> StoreError? {
    do {
        try body()
        return nil
    } catch { return error as? StoreError }
}

/// Returns a group with one sample, whose time in µs and batch number are `seq`.
private func batch(_ seq: Int64) -> IngestGroup { group([seq], seq: seq) }

private func group(_ times: [Int64], seq: Int64) -> IngestGroup {
    var block = SampleBlock(stream: .accelerometer)
    for time in times { block.append(time: Timestamp(microseconds: time), values: [0, 0, -1]) }
    let batch = Batch(position: BatchPosition(epoch: Epoch(unchecked: "e"), seq: seq), samples: block)
    return IngestGroup(batches: [ReceivedBatch(device: device, batch: batch, receivedAt: Timestamp(microseconds: seq))])
}

/// Returns the times of all stored samples.
private func samples(_ address: ClickHouseAddress) throws -> [Int64] {
    let reader = try ClickHouseDriver(address)
    return try reader.client.rows("SELECT t FROM accelerometer ORDER BY t").compactMap { $0[0].flatMap { Int64($0) } }
}
