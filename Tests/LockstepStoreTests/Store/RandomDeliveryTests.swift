import FoundationEssentials
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepModel
@testable import LockstepStore

@Suite("Random delivery", .temporaryFolder)
struct RandomDeliveryTests {
    @Test("after repeated, reordered and overlapping batches and failed writes, the store equals a reference model")
    func randomDelivery() throws {
        let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? .random(in: 0...9_999)
        print("random delivery: LOCKSTEP_SEED=\(seed)")
        var random = SplitMix64(seed: seed)
        let folder = TemporaryFolder.path
        let path = folder + "/store"
        var store = try openWithTrap(path)
        var model = Model()
        var sent: [ReceivedBatch] = []
        for _ in 0..<150 {
            if random.next() % 20 == 0 {
                // Release the old store first: it holds the lock.
                withExtendedLifetime(consume store) {}
                store = try openWithTrap(path)
            }
            var group = randomGroup(&random, &sent)
            if random.next() % 5 == 0 {
                group.rejected = [RejectedMessage(at: time(0), topic: "trap", reason: "", size: 0, head: [])]
                // The earlier groups of the transaction are discarded with it.
                if random.next() % 2 == 0 { try store.add(randomGroup(&random, &sent)) }
                #expect(throws: StoreError.self) { try store.write(group) }
            } else {
                for part in parts(of: group, &random) { try store.add(part) }
                let result = try store.commit()
                #expect(result == model.write(group), "seed \(seed)")
            }
        }
        try compare(store, model, seed)
    }

    private func openWithTrap(_ path: String) throws -> SQLiteStore {
        let store = try SQLiteStore(path: path)
        try store.database.execute(
            "CREATE TEMP TRIGGER trap BEFORE INSERT ON main.rejected BEGIN SELECT RAISE(ABORT, 'trap'); END")
        return store
    }

    private func randomGroup(_ random: inout SplitMix64, _ sent: inout [ReceivedBatch]) -> IngestGroup {
        var group = IngestGroup()
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            if let again = sent.randomElement(using: &random), random.next() % 3 == 0 {
                group.append(again)
                continue
            }
            let from = Int64.random(in: 0...400, using: &random)
            let batch = received(
                acceleration(
                    from...(from + .random(in: 0...20, using: &random)),
                    z: [-1, -1, 2].randomElement(using: &random) ?? -1),
                from: device("d\(random.next() % 3)"), epoch: "e\(random.next() % 2)",
                seq: random.next() % 10 == 0 ? nil : .random(in: 1...60, using: &random))
            sent.append(batch)
            group.append(batch)
        }
        if random.next() % 4 == 0 {
            let first = Int64.random(in: 1...60, using: &random)
            group.dropped = [
                DroppedBatches(
                    device: device("d\(random.next() % 3)"), epoch: epoch("e\(random.next() % 2)"),
                    ranges: [first...(first + 3)])
            ]
        }
        return group
    }

    /// Splits a group into one to three groups.
    private func parts(of group: IngestGroup, _ random: inout SplitMix64) -> [IngestGroup] {
        var parts = Array(repeating: IngestGroup(), count: Int.random(in: 1...3, using: &random))
        var part = 0
        for batch in group.batches {
            part = Int.random(in: part..<parts.count, using: &random)
            parts[part].append(batch)
        }
        parts[part].dropped = group.dropped
        return parts
    }

    private func compare(_ store: SQLiteStore, _ model: Model, _ seed: UInt64) throws {
        let rows = try store.database.rows(
            "SELECT device, t, z FROM accelerometer JOIN _devices USING (device_id) ORDER BY device, t")
        let expected = model.samples.map { key, z in (key, "\(key.device.device)|\(key.time)|\(z)") }
            .sorted { ($0.0.device, $0.0.time) < ($1.0.device, $1.0.time) }.map(\.1)
        #expect(rows == expected, "seed \(seed)")
        #expect(
            try store.database.integer("SELECT count(*) FROM conflicts")
                == model.conflicts.values.reduce(0) { $0 + $1.count }, "seed \(seed)")
        let verification = try StoreReader(path: store.path).verification()
        for device in verification {
            for epoch in device.epochs {
                let key = DeviceEpoch(device: device.address, epoch: epoch.epoch)
                #expect(epoch.received == model.received[key] ?? [], "seed \(seed)")
                #expect(epoch.gaps == model.known(key).gaps, "seed \(seed)")
            }
        }
        let missing = verification.flatMap(\.epochs).reduce(0) { $0 + $1.gaps.count }
        #expect(try store.database.integer("SELECT ifnull(sum(batches), 0) FROM v_gaps") == missing, "seed \(seed)")
        #expect(try store.database.integer("SELECT sum(missing_batches) FROM v_devices") == missing, "seed \(seed)")
        #expect(try store.database.integer("SELECT sum(samples) FROM devices") == model.samples.count, "seed \(seed)")
    }
}

/// A reference model of a store, based on dictionaries.
private struct Model {
    struct Key: Hashable {
        let device: DeviceAddress
        let time: Int64
    }

    var samples: [Key: Double] = [:]
    var conflicts: [Key: Set<Double>] = [:]
    var received: [DeviceEpoch: SequenceSet] = [:]
    var dropped: [DeviceEpoch: SequenceSet] = [:]

    func known(_ key: DeviceEpoch) -> SequenceSet { (received[key] ?? []).union(dropped[key] ?? []) }

    mutating func write(_ group: IngestGroup) -> ModelResult {
        var result = ModelResult()
        for batch in group.batches {
            result.devices[batch.device, default: .init()] += add(batch)
            guard let position = batch.batch.position else { continue }
            let key = DeviceEpoch(device: batch.device, epoch: position.epoch)
            received[key, default: []].insert(position.seq)
            result.received[key] = []
        }
        for entry in group.dropped {
            let key = DeviceEpoch(device: entry.device, epoch: entry.epoch)
            dropped[key, default: []].formUnion(entry.ranges)
            result.received[key] = []
        }
        for key in result.received.keys { result.received[key] = known(key) }
        return result
    }

    private mutating func add(_ batch: ReceivedBatch) -> IngestResult.Counts {
        var counts = IngestResult.Counts()
        let block = batch.batch.samples
        for (index, time) in block.times.enumerated() {
            let key = Key(device: batch.device, time: time)
            let z = block.columns[2][index]
            if let stored = samples[key] {
                let isNew = stored != z && conflicts[key, default: []].insert(z).inserted
                if isNew { counts.conflicts += 1 } else { counts.duplicates += 1 }
            } else {
                samples[key] = z
                counts.stored += 1
            }
        }
        return counts
    }
}
