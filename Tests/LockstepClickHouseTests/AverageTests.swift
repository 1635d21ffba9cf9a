import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Averages in ClickHouse", .enabled(if: TestClickHouse.isInstalled, "clickhouse-server is not installed"))
struct AverageTests {
    private static let streams: [SensorStream] = [.accelerometer, .steps, .location]
    private static let start: Int64 = 1_700_000_025_000_000
    private static let devices = ["one", "two"].map {
        DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: $0))
    }

    @Test(
        "averages and envelopes are those of an SQLite store, with duplicates, late samples and conflicts",
        arguments: [1, 2] as [UInt64])
    func equal(seed: UInt64) async throws {
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
            let before = try Self.averages(reader, span: 120_000_000)
            #expect(before == ["0 3.0 4.0", "120000000 3.0 4.0"])
            // Three minutes are complete, and only they have a summary.
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
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
            let reader = try ClickHouseReader(address)
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
            options.sampleAge = year
            _ = try ClickHouseStore(address, options: options)
            #expect(try await server.execute("SELECT count() FROM minutes_accelerometer WHERE t >= \(old)") == ["0"])
            #expect(try Self.averages(reader, span: 60_000_000, from: old).count == 1)
        }
    }

    @Test("a time range is divided into minutes with a summary and groups of gaps")
    func plan() {
        let hour = SummaryPlan.shortRange
        #expect(
            SummaryPlan.gaps(in: 0..<200_000_000, between: [60_000_000]) == [0..<60_000_000, 120_000_000..<200_000_000])
        #expect(SummaryPlan.gaps(in: 0..<60_000_000, between: [0]) == [])
        #expect(SummaryPlan.areShort([0..<5, 7..<hour + 2]) && !SummaryPlan.areShort([0..<5, 7..<hour + 3]))
        #expect(!SummaryPlan.areShort([.min ..< .max]) && SummaryPlan.areShort([]))
        let part = SummarySelect.countedPart
        func groups(
            _ ranges: [Range<Int64>], _ counts: [(part: Int64, rows: Int64)], maxRows: Int64 = 10
        ) -> [[Range<Int64>]] {
            SummaryPlan.groups(ranges, counts, length: part, maxRows: maxRows)
        }
        let (one, two, four, five): (Int64, Int64, Int64, Int64) = (part, 2 * part, 4 * part, 5 * part)
        #expect(groups([5..<five], [(0, 6), (1, 4), (4, 11)]) == [[5..<two], [four..<five]])
        let first = Int64.min / part
        #expect(groups([.min ..< .max], [(first - 1, 1)], maxRows: 1) == [[Int64.min..<first * part]])
        // Two ranges in a part, one without rows, and one that is read with the first.
        let several: [Range<Int64>] = [0..<5, 8..<9, one..<one + 7, two..<four]
        #expect(groups(several, [(0, 5), (2, 2), (3, 3)]) == [[0..<5, 8..<9, two..<four]])
        #expect(groups([0..<5], []).isEmpty)
        // A sample every half hour for 30 days.
        let halfHours: [Int64] = Array(0..<1440)
        let counts: [(part: Int64, rows: Int64)] = halfHours.map { (part: $0 * 30, rows: 1) }
        // Each of their minutes has a summary, or every second one.
        let all: [Range<Int64>] = halfHours.map { Self.range($0 * 30 + 1, $0 * 30 + 30) }
        let some: [Range<Int64>] = halfHours.prefix(720).map { Self.range($0 * 60 + 1, $0 * 60 + 60) }
        #expect(SummaryPlan.groups(all, counts, length: Minute.length, maxRows: 10).isEmpty)
        let sizes = SummaryPlan.groups(some, counts, length: Minute.length, maxRows: 1000).map(\.count)
        #expect(sizes == [500, 220])
        let select = SummarySelect(stream: .accelerometer, device: 1, columns: [], origin: 10, width: 90_000_000)
        #expect(select.start(of: 9) == 10 - 90_000_000 && select.start(of: 10) == 10)
        #expect(!SummaryPlan.contains(select, 0 ..< .max, minute: 0))
        #expect(SummaryPlan.contains(select, 0 ..< .max, minute: 120_000_000))
        #expect(!SummaryPlan.contains(select, 0..<179_999_999, minute: 120_000_000))
    }

    @Test("a minute is summarised when nothing was stored in it for a while and a later one has samples")
    func schedule() {
        var schedule = AverageSchedule(delay: .seconds(10))
        let start = ContinuousClock.now
        let key = Self.minute(1)
        schedule.record(key, rows: 3, newest: 119_000_000, at: start)
        // It is the newest minute.
        #expect(!schedule.isDue(at: start + .seconds(100)))
        schedule.record(Self.minute(2), rows: 1, newest: 130_000_000, at: start + .seconds(2))
        #expect(!schedule.isDue(at: start + .seconds(9)))
        #expect(schedule.isDue(at: start + .seconds(10)))
        schedule.record(key, rows: 3, newest: 130_000_000, at: start + .seconds(5))
        #expect(schedule.next(at: start + .seconds(10)).isEmpty)
        #expect(!schedule.isDue(at: start + .seconds(14)))
        let piece = schedule.next(at: start + .seconds(15))
        #expect(piece.map(\.key) == [key] && piece.map(\.rows) == [6])
        #expect(!schedule.isDue(at: start + .seconds(100)))
        schedule.postpone(piece, at: start + .seconds(40))
        #expect(!schedule.isDue(at: start + .seconds(49)))
        #expect(schedule.isDue(at: start + .seconds(50)))
        #expect(schedule.next(at: start + .seconds(50)).map(\.rows) == [6])
        schedule.finish(after: .seconds(2), at: start + .seconds(50))
        schedule.record(key, rows: 1, newest: 130_000_000, at: start + .seconds(50))
        #expect(!schedule.isDue(at: start + .seconds(67)) && schedule.isDue(at: start + .seconds(68)))
        #expect(AverageSchedule.ranges(of: [Self.minute(2), key]).map(\.times) == [60_000_000..<180_000_000])
        #expect(
            AverageSchedule.ranges(of: [Self.minute(2, device: 2), key]).map(\.times)
                == [60_000_000..<120_000_000, 120_000_000..<180_000_000])
    }

    @Test("each stream has its turn to be summarised, whatever waits in the others")
    func turns() {
        var schedule = AverageSchedule(delay: .zero)
        let start = ContinuousClock.now
        for stream in 0..<3 {
            // More than one piece.
            for minute in Int64(0)..<4 {
                schedule.record(
                    Self.minute(minute, stream: stream), rows: 150_000, newest: 600_000_000, at: start)
            }
        }
        let streams = (0..<6).map { _ in schedule.next(at: start).first?.key.series.stream }
        #expect(streams == [0, 1, 2, 0, 1, 2])
    }

    @Test("after a failure, fewer minutes are summarised at once, and more again after successes")
    func smaller() {
        var schedule = AverageSchedule(delay: .zero)
        var now = ContinuousClock.now
        for device in 0..<4000 {
            schedule.record(Self.minute(1, device: device), rows: 10, newest: 600_000_000, at: now)
        }
        func sizes(_ count: Int, fails: Bool) -> [Int] {
            (0..<count).map { _ in
                now += .seconds(100)
                let piece = schedule.next(at: now)
                if fails { schedule.postpone(piece, at: now) } else { schedule.finish(after: .zero, at: now) }
                return piece.count
            }
        }
        #expect(sizes(3, fails: true) == [500, 250, 125])
        #expect(schedule.hasFailed)
        #expect(sizes(8, fails: false) == [62, 125, 250, 500, 500, 500, 500, 500])
        #expect(!schedule.hasFailed)
        // None was lost.
        let rest = sizes(100, fails: false).reduce(0, +)
        #expect(rest == 4000 - (62 + 125 + 250 + 5 * 500))
    }

    @Test("a minute that waits is marked as changed once, and again after its summary has begun")
    func marks() {
        var schedule = AverageSchedule(delay: .zero)
        let start = ContinuousClock.now
        let key = Self.minute(1)
        #expect(!schedule.isMarked(key))
        schedule.mark(key, at: start)
        schedule.record(key, rows: 5, newest: 600_000_000, at: start)
        #expect(schedule.isMarked(key) && !schedule.isMarked(Self.minute(1, device: 2)))
        let piece = schedule.next(at: start)
        #expect(piece.map(\.rows) == [5])
        #expect(!schedule.isMarked(key))
        // The summary may have been inserted although there was no answer.
        schedule.postpone(piece, at: start)
        #expect(!schedule.isMarked(key))
    }

    /// The time from the start of a minute to that of another one.
    private static func range(_ first: Int64, _ end: Int64) -> Range<Int64> {
        first * Minute.length..<end * Minute.length
    }

    private static func minute(_ number: Int64, device: Int = 1, stream: Int = 2) -> AverageSchedule.Key {
        .init(series: SeriesKey(device: device, stream: stream), minute: number * 60_000_000)
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
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
            let reader = try ClickHouseReader(ClickHouseAddress(server.url()))
            #expect(try Self.averages(reader, span: 60_000_000).first == "0 3.0 3.0")
            #expect(try await server.execute("SELECT t, x FROM minutes_accelerometer") == ["0\t3"])
        }
    }
}

extension AverageTests {
    /// Summarises all minutes that are complete. A call summarises minutes of one stream.
    private static func summarise(_ store: ClickHouseStore) {
        for _ in 0..<2 * streams.count { store.performAverages() }
    }

    private static func open(
        _ server: TestClickHouse, report: (@Sendable (String, String) -> Void)? = nil
    ) throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.reportMaintenanceProblem = report
        options.survivesPowerLoss = false
        options.minInterval = .zero
        options.averageDelay = .zero
        return try ClickHouseStore(ClickHouseAddress(server.url()), options: options)
    }

    private static func compare(_ path: String, _ server: TestClickHouse, _ seed: UInt64) throws {
        let (file, database) = (try StoreReader(path: path), try ClickHouseReader(ClickHouseAddress(server.url())))
        for stream in streams {
            for span in [60_000_000, 90_000_000, 600_000_000] as [Int64] {
                for (from, to) in [(nil, nil), (start + 130_000_001, start + 1_500_000_007)] as [(Int64?, Int64?)] {
                    #expect(
                        try rows(file, stream, span, from, to) == rows(database, stream, span, from, to),
                        "seed \(seed): \(stream) \(span) \(from ?? 0)")
                }
            }
            // In pages, as the web server reads them.
            var paged: [[String]] = [[], []]
            for (index, reader) in [file as any StoreReading, database].enumerated() {
                var from = start
                while true {
                    var last: Int64?
                    let query = SampleQuery(
                        device: devices[1], stream: stream, detail: .averages(span: 120_000_000),
                        from: Timestamp(microseconds: from), limit: 4)
                    let hasMore = try reader.run(query, cancellation: nil) { time, values in
                        last = time.microseconds
                        paged[index].append("\(time.microseconds) \(values.last ?? 0)")
                    }
                    paged[index].append("\(hasMore)")
                    guard hasMore, let last else { break }
                    from = last + 120_000_000
                }
            }
            #expect(paged[0] == paged[1], "seed \(seed)")
            for points in [3, 50] {
                let query = EnvelopeQuery(
                    device: devices[0], stream: stream, from: Timestamp(microseconds: start + 17_000_003),
                    to: Timestamp(microseconds: start + 3_000_000_000), points: points)
                let expected = try file.envelope(query, cancellation: nil).buckets.map { "\($0)" }
                #expect(try database.envelope(query, cancellation: nil).buckets.map { "\($0)" } == expected)
            }
        }
    }

    /// Compares the view of minutes with averages that the server computes from samples.
    private static func compareView(_ server: TestClickHouse) async throws {
        let view = try await server.execute(
            "SELECT device_id, t, samples, round(x, 6), x_min, z_max FROM minutes_accelerometer ORDER BY device_id, t")
        let samples = try await server.execute(
            """
            SELECT device_id, intDiv(t, 60000000) * 60000000 AS m, count(), round(avg(x), 6), min(x), max(z) FROM accelerometer
            GROUP BY device_id, m ORDER BY device_id, m
            """)
        #expect(Set(view).isSubset(of: samples) && !view.isEmpty)
        for stream in streams { _ = try await server.execute("SELECT * FROM minutes_\(stream.table)") }
    }

    private static func rows(
        _ reader: any StoreReading, _ stream: SensorStream, _ span: Int64, _ from: Int64?, _ to: Int64?
    ) throws -> [String] {
        var rows: [String] = []
        try reader.query(
            stream: stream, detail: .averages(span: span), group: nil, devices: [],
            from: from.map(Timestamp.init(microseconds:)), to: to.map(Timestamp.init(microseconds:)), limit: nil
        ) { row in
            let values = row.values.map { $0.isNaN ? "-" : "\(($0 * 1e6).rounded())" }
            rows.append("\(row.device) \(row.time.microseconds) \(values.joined(separator: " "))")
        }
        return rows
    }

    /// The averages of the first value, and the numbers of samples.
    private static func averages(
        _ reader: any StoreReading, span: Int64, from: Int64? = nil, to: Int64? = nil
    ) throws -> [String] {
        var rows: [String] = []
        try reader.query(
            stream: .accelerometer, detail: .averages(span: span), group: nil, devices: [],
            from: from.map(Timestamp.init(microseconds:)), to: to.map(Timestamp.init(microseconds:)), limit: nil
        ) { row in rows.append("\(row.time.microseconds) \(row.values[0]) \(row.values[3])") }
        return rows
    }

    private static func group(
        _ device: DeviceAddress, _ times: [Int64], value: Double, _ position: BatchPosition? = nil
    ) -> IngestGroup {
        var block = SampleBlock(stream: .accelerometer)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [value, 0, 0]) }
        return IngestGroup(batches: [
            ReceivedBatch(
                device: device, batch: Batch(position: position, samples: block),
                receivedAt: Timestamp(microseconds: 1))
        ])
    }

    /// Samples of about a minute, which mostly follow those of the round before.
    private static func group(_ round: Int, _ random: inout SeededGenerator) -> IngestGroup {
        var group = IngestGroup()
        for _ in 0..<Int.random(in: 2...6, using: &random) {
            let stream = streams.randomElement(using: &random) ?? .accelerometer
            let isLate = Int.random(in: 0..<5, using: &random) == 0
            let position = isLate ? Int.random(in: 0...round, using: &random) : round
            let first = Int64(position) * 50 + Int64.random(in: 0..<30, using: &random)
            let variant = Int.random(in: 0..<8, using: &random) == 0 ? 1 : 0
            var block = SampleBlock(stream: stream)
            for second in first..<first + Int64.random(in: 1...70, using: &random) {
                block.append(
                    time: Timestamp(microseconds: start + second * 1_000_000),
                    values: stream.columns.map { value(of: $0, at: second, variant) })
            }
            group.append(
                ReceivedBatch(
                    device: devices.randomElement(using: &random) ?? devices[0],
                    batch: Batch(position: nil, samples: block),
                    receivedAt: Timestamp(microseconds: 1_000_000 + Int64(round) * 1000)))
        }
        return group
    }

    private static func value(of column: SensorStream.Column, at second: Int64, _ variant: Int) -> Double {
        if !column.isRequired, second % 5 == 0 { return .nan }
        if column.aggregate == .meanLongitude {
            return second / 100 % 2 == 0 ? Double(second % 8) - 4 : second % 2 == 0 ? 179.5 : -179.75
        }
        let number = Double(second % 8)
        return switch column.kind {
        case .real: number * 0.5 - 1 + Double(100 * variant)
        case .integer: number + Double(100 * variant)
        case .choice(let words): Double((Int(second) + variant) % words.count)
        }
    }
}
