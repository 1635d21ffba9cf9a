import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Averages in ClickHouse", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct AverageTests {
    static let streams: [SensorStream] = [.accelerometer, .steps, .location]
    static let start: Int64 = 1_700_000_025_000_000
    static let devices = ["one", "two"].map {
        DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: $0))
    }

    @Test("averages and envelopes are those of an SQLite store, with duplicates, late samples and conflicts")
    func equal() async throws {
        let seed: UInt64 = 1
        try await withClickHouse { server in
            try await withTemporaryFolder { folder in
                let path = folder + "/store.db"
                let file = try SQLiteStore(path: path)
                var database = try Self.open(server)
                var random = SeededGenerator(seed: seed)
                for round in 0..<40 {
                    if round % 18 == 17 {
                        database.close()
                        database = try Self.open(server)
                    }
                    let group = Self.group(round, &random)
                    #expect(try file.write(group) == database.write(group), "seed \(seed), round \(round)")
                    if Int.random(in: 0..<3, using: &random) == 0 {
                        Self.summarise(database)
                    }
                    if round % 20 == 10 {
                        // As after inserts whose answers were lost.
                        for stream in Self.streams {
                            try await server.execute(
                                "INSERT INTO \(stream.receivedTable) SELECT * FROM \(stream.receivedTable)")
                        }
                    }
                    if round == 20 { try Self.compare(path, server, seed) }
                }
                file.close()
                Self.summarise(database)
                try Self.compare(path, server, seed)
                // Most minutes have a summary, so that the comparison is one of summaries.
                let samples = try await server.execute(
                    "SELECT uniqExact(device_id, intDiv(t, 60000000)) FROM accelerometer")
                let minutes = try await server.execute("SELECT count() FROM minutes_accelerometer")
                #expect((Int(minutes[0]) ?? 0) * 10 > (Int(samples[0]) ?? .max) * 7, "\(minutes) of \(samples)")
                for stream in Self.streams {
                    try await server.execute("OPTIMIZE TABLE \(stream.minuteTable) FINAL")
                }
                if seed == 1 { try Self.compare(path, server, seed) }
                try await Self.compareView(server)
            }
        }
    }

    @Test("averages of whole minutes do not read samples")
    func withoutSamples() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<4 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000, minute * 60_000_000 + 1], value: 3))
                Self.summarise(store)
            }
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            let before = try Self.averages(reader, span: 120_000_000)
            #expect(before == ["0 3.0 4.0", "120000000 3.0 4.0"])
            // Three minutes are complete, and only they have a summary.
            #expect(reader.summarisedSamples == 6)
            let envelope = EnvelopeQuery(
                device: Self.devices[0], stream: .accelerometer, from: Timestamp(microseconds: 0),
                to: Timestamp(microseconds: 240_000_000), points: 4)
            #expect(try reader.envelope(envelope).buckets.map(\.samples) == [2, 2, 2, 2])
            #expect(reader.summarisedSamples == 12)
            try await server.execute("ALTER TABLE received_accelerometer DROP PARTITION 600")
            #expect(try Self.averages(reader, span: 120_000_000) == ["0 3.0 4.0", "120000000 3.0 2.0"])
            #expect(try Self.averages(reader, span: 60_000_000, from: 1, to: 180_000_000).count == 2)
        }
    }

    @Test(
        "a sample that was stored, but not marked, by a store that was killed is in the averages once it is acknowledged"
    )
    func killed() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            Self.summarise(store)
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 1.0 1.0")
            // The samples of a commit, without anything that follows.
            let group = Self.group(Self.devices[0], [5], value: 4)
            var rows = SampleRows(.accelerometer)
            let block = group.runs[0].samples
            rows.append(
                device: DeviceRecord.id(of: Self.devices[0]), block, 0..<1,
                hashes: SampleHasher(.accelerometer).hashes(of: block), receivedAt: Timestamp(microseconds: 1),
                isConflict: false)
            try store.client.insert([TableInsert(rows)])
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 1.0 1.0")
            let next = try Self.open(server)
            #expect(try next.write(group).devices[Self.devices[0]] == IngestResult.Counts(duplicates: 1))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 2.5 2.0")
            Self.summarise(next)
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 2.5 2.0")
        }
    }

    @Test("late samples in the first transaction after a restart count, also behind newer ones in another group")
    func secondGroup() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            Self.summarise(store)
            let next = try Self.open(server)
            try next.add(Self.group(Self.devices[0], [600_000_000], value: 1))
            try next.add(Self.group(Self.devices[0], [0], value: 1))
            try next.add(Self.group(Self.devices[0], [0, 5], value: 3))
            #expect(
                try next.commit().devices[Self.devices[0]]
                    == IngestResult.Counts(stored: 2, duplicates: 1, conflicts: 1))
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 2.0 2.0")
        }
    }

    @Test("a summary that is computed while a minute changes does not count")
    func changedMeanwhile() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            let writer = MinuteWriter(client: store.client, stream: .accelerometer)
            let old = try writer.summaries(where: "t < 120000000")
            try store.write(Self.group(Self.devices[0], [7], value: 3))
            try writer.insert(old, version: 5)
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).prefix(2) == ["0 2.0 2.0", "60000000 1.0 1.0"])
            #expect(try await server.execute("SELECT t, x FROM minutes_accelerometer") == ["60000000\t1"])
        }
    }

    @Test("samples that are copied, and partitions that are dropped, are not in the averages of earlier summaries")
    func copiedAndDropped() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            Self.summarise(store)
            let address = try ClickHouseAddress(server.url())
            let target = try CopyTarget(address, survivesPowerLoss: false, quorum: nil, catalog: .builtIn)
            try target.insert(Self.group(Self.devices[0], [9], value: 2).runs[0].samples, of: Self.devices[0])
            let reader = try StoreReader(address)
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 1.5 2.0")
            let year: Int64 = 31_556_952_000_000
            let now = Moment.now().wall.microseconds
            let old = Minute.start(of: now - 2 * year)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [old + minute * 60_000_000], value: 1))
            }
            try store.write(Self.group(Self.devices[0], [now], value: 1))
            Self.summarise(store)
            #expect(try await server.execute("SELECT count() FROM minutes_accelerometer WHERE t >= \(old)") == ["3"])
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            options.retention.rules = try KeepRules([(StreamPattern("*"), year)])
            options.retention.isConfirmed = true
            // Which writes what it knows of devices, such as their newest samples.
            store.close()
            _ = try ClickHouseStore(address, options: options)
            #expect(try await server.execute("SELECT count() FROM minutes_accelerometer WHERE t >= \(old)") == ["0"])
            #expect(try Self.averages(reader, span: 60_000_000, from: old).count == 1)
        }
    }

    @Test(
        "a deletion that begins within a minute deletes its summary, also if its samples have left before",
        arguments: [true, false], [true, false])
    func deletedWithinMinute(byCopy: Bool, withSamples: Bool) async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000 + 5], value: 3))
            }
            Self.summarise(store)
            if !withSamples { try await server.execute("ALTER TABLE received_accelerometer DROP PARTITION 600") }
            let address = try ClickHouseAddress(server.url())
            let reader = try StoreReader(address)
            let both = ["0 2.0 2.0", "60000000 2.0 2.0"]
            #expect(try Self.averages(reader, span: Minute.length, to: 120_000_000) == both)
            let deletion = Deletion(
                id: "a", device: Self.devices[0], stream: "motion/accelerometer", times: 5..<30,
                at: Timestamp(microseconds: 9), who: "anna")
            if byCopy {
                let target = try CopyTarget(address, survivesPowerLoss: false, quorum: nil, catalog: .builtIn)
                let done = Timestamp(microseconds: 10)
                try target.insert([StoredDeletion(deletion: deletion, count: 1, refused: 0, done: done)])
            } else {
                var group = IngestGroup()
                group.deletions = [deletion]
                try store.write(group)
            }
            try await expectEventually("the end of the deletion") {
                while store.needsMaintenance { store.performMaintenance() }
                return try Self.averages(reader, span: Minute.length, to: 120_000_000)
                    == (withSamples ? ["0 1.0 1.0"] : []) + both.dropFirst()
            }
        }
    }

    @Test("late samples that follow each other mark their minute once, and still count")
    func markedOnce() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            Self.summarise(store)
            for time in Int64(1)...4 { try store.write(Self.group(Self.devices[0], [time], value: 6)) }
            let count = "SELECT count() FROM summarised_accelerometer WHERE _change != 0"
            #expect(try await server.execute(count) == ["1"])
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 5.0 5.0")
            Self.summarise(store)
            try store.write(Self.group(Self.devices[0], [5], value: 11))
            #expect(try await server.execute(count) == ["2"])
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 6.0 6.0")
        }
    }

    @Test(
        "samples of a commit that failed count when they are sent again",
        arguments: ["summarised_accelerometer", "received_batches"])
    func failedCommit(table: String) async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            Self.summarise(store)
            let position = BatchPosition(epoch: Epoch(unchecked: "e1"), seq: 1)
            let group = Self.group(Self.devices[0], [5], value: 3, position)
            try await server.execute("RENAME TABLE \(table) TO away")
            #expect(throws: StoreError.self) { try store.write(group) }
            try await server.execute("RENAME TABLE away TO \(table)")
            #expect(try store.write(group).devices[Self.devices[0]] == IngestResult.Counts(duplicates: 1))
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 2.0 2.0")
            Self.summarise(store)
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 2.0 2.0")
            #expect(try await server.execute("SELECT t, x FROM minutes_accelerometer ORDER BY t").first == "0\t2")
        }
    }

    @Test("an owner marks all minutes of a transaction that took long, since the next one may have summarised them")
    func slowTransaction() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            try store.takeOver(FencingToken(rawValue: 2_000_000_000)) { _ in true }
            let count = "SELECT count() FROM summarised_accelerometer WHERE _change != 0"
            for (seconds, changes) in [(0, "0"), (30, "2"), (30, "4")] {
                // One minute is the newest and is marked too.
                try store.add(Self.group(Self.devices[0], [0, 60_000_000 + Int64(seconds)], value: 1))
                store.transaction.began = ContinuousClock.now - .seconds(seconds)
                _ = try store.commit()
                #expect(try await server.execute(count) == [changes])
            }
            // Later samples of the newest minute are not marked: it must not have been summarised.
            Self.summarise(store)
            try store.write(Self.group(Self.devices[0], [100_000_000], value: 4))
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000) == ["0 1.0 1.0", "60000000 2.0 3.0"])
        }
    }

    @Test("an owner that has lost its devices does not insert summaries of them, and reports that once")
    func takenOver() async throws {
        try await withClickHouse { server in
            let problems = TextLog()
            let store = try Self.open(server) { problems.append("\($0): \($1)") }
            try store.takeOver(FencingToken(rawValue: 2_000_000_000)) { _ in true }
            for minute in Int64(0)..<3 {
                try store.write(Self.group(Self.devices[0], [minute * 60_000_000], value: 1))
            }
            let next = try Self.open(server)
            try next.takeOver(FencingToken(rawValue: 2_000_000_001)) { _ in true }
            store.performAverages()
            store.performAverages()
            #expect(problems.texts.count == 1 && problems.texts[0].contains("taken over"), "\(problems.texts)")
            #expect(try await server.execute("SELECT count() FROM summarised_accelerometer") == ["0"])
            // The minutes that the next owner changes are summarised by it.
            for time in Int64(1)...2 { try next.write(Self.group(Self.devices[0], [time], value: 4)) }
            Self.summarise(next)
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 3.0 3.0")
            #expect(try await server.execute("SELECT t, x FROM minutes_accelerometer") == ["0\t3"])
        }
    }
}
