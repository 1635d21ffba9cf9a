import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Summaries of minutes", .temporaryFolder)
struct SummaryTests {
    @Test(
        "after late samples, conflicts, deletions, retention, merges and kills, each answer is the same with and without summaries",
        arguments: 1...4)
    func history(seed: UInt64) throws {
        var history = try SummaryHistory(seed: seed)
        var (differences, summaries): ([String], Int64) = ([], 0)
        for step in 0..<250 {
            try history.step()
            guard step % 5 == 0 else { continue }
            differences += try history.differences().map { "seed \(seed), step \(step): \($0)" }
            summaries = max(summaries, try history.summaryCount())
        }
        #expect(differences.isEmpty, "\(differences.prefix(3))")
        #expect(summaries > 100)
        // What is missing is made again.
        try history.mergeAndSummarise()
        let (rest, missing) = (try history.differences(), try history.missing())
        #expect(rest.isEmpty && missing.isEmpty, "seed \(seed): \(rest.prefix(3)) \(missing.prefix(3))")
    }

    @Test("the same histories show a difference if a summary outlives a change of its minute")
    func missingMark() throws {
        var history = try SummaryHistory(seed: 1, forgets: false)
        var differences = 0
        for step in 0..<250 where differences == 0 {
            try history.step()
            if step % 5 == 0 { differences = try history.differences().count }
        }
        #expect(differences > 0)
    }

    /// Samples once a second, from a whole hour on.
    private func seconds(_ range: Range<Int64>) -> SampleBlock {
        acceleration(range.map { $0 * 1_000_000 - start % 3_600_000_000 })
    }

    private func summarise(_ store: SQLiteStore) {
        store.summaries.due = .now
        repeat { store.performSummaries() } while store.needsSummaries
    }

    private func minutes(_ store: SQLiteStore) throws -> Int64 {
        try store.database.integer("SELECT count(*) FROM _minutes_accelerometer")
    }

    @Test("an hour is summarised ten minutes after its end, and new samples neither read nor write anything more")
    func age() throws {
        let (store, _) = try newStore()
        try store.write(received(seconds(0..<4199)))
        summarise(store)
        #expect(try StoreSchema.columns(of: "_minutes_accelerometer", in: store.database).isEmpty)
        #expect(!store.needsSummaries)
        try store.write(received(seconds(4199..<4201)))
        try store.mergeAll()
        summarise(store)
        #expect(try minutes(store) == 60)
        // Some minutes late, but newer than what was summarised.
        try store.write(received(seconds(4300..<4500)), received(seconds(4250..<4300)))
        #expect(try minutes(store) == 60)
        #expect(try store.database.rows("SELECT upto = until FROM _summarised") == ["1"])
    }

    @Test("late samples delete the summaries of their minutes, which are made again; a rollback leaves them")
    func late() throws {
        let (store, path) = try newStore()
        try store.write(received(seconds(0..<8000)))
        summarise(store)
        #expect(try minutes(store) == 120)
        let late = acceleration((0..<200).map { 600_000_500 + $0 * 500_000 - start % 3_600_000_000 })
        try store.add(IngestGroup(batches: [received(late)]))
        #expect(try minutes(store) == 118)
        store.rollBack()
        #expect(try minutes(store) == 120)
        try store.write(received(late))
        #expect(try minutes(store) == 118)
        let first = start - start % 3_600_000_000 + 600_000_000
        #expect(try store.database.rows("SELECT upto = \(first) FROM _summarised") == ["1"])
        summarise(store)
        #expect(try minutes(store) == 120)
        let rows = try store.database.rows(
            "SELECT samples FROM _minutes_accelerometer WHERE samples <> 60 ORDER BY t")
        #expect(rows == ["180", "140"])
        // One late sample of each of two distant minutes leaves those between them.
        try store.write(received(acceleration([1, 5_000_000_001].map { $0 - start % 3_600_000_000 })))
        try store.mergeAll()
        #expect(try minutes(store) == 118)
        let reader = try StoreReader(path: path)
        #expect(try reader.rows(.averages(span: 3_600_000_000)).count == 3)
    }

    @Test("no samples are read where there are summaries, and readers tell how many these stand for")
    func sources() throws {
        let (store, path) = try newStore()
        try store.write(received(seconds(0..<8000)))
        summarise(store)
        let reader = try StoreReader(path: path)
        let hour: Int64 = 3_600_000_000
        let first = start - start % hour
        let envelope = EnvelopeQuery(
            device: device("one"), stream: .accelerometer, from: Timestamp(microseconds: first),
            to: Timestamp(microseconds: first + 3 * hour), points: 180)
        let averages = try reader.rows(.averages(span: hour)).map { "\($0)" }
        let buckets = try reader.envelope(envelope).lines
        try store.database.execute("DELETE FROM _accelerometer WHERE t < \(first + hour)")
        var summarised = reader.summarisedSamples
        let again = try reader.rows(.averages(span: hour)).map { "\($0)" }
        #expect(again == averages && reader.summarisedSamples - summarised == 7200)
        summarised = reader.summarisedSamples
        let bucketsAgain = try reader.envelope(envelope).lines
        #expect(bucketsAgain == buckets && reader.summarisedSamples - summarised == 7200)
        summarised = reader.summarisedSamples
        _ = try reader.rows(.averages(span: 30_000_000))
        #expect(reader.summarisedSamples == summarised)
        #expect(RowSource(samples: 8000, summarised: 7200) == .both && RowSource(samples: 5, summarised: 0) == .samples)
        #expect(RowSource(samples: 60, summarised: 60) == .summaries)
        #expect(RowSource(samples: 0, summarised: 0) == .samples)
    }

    @Test("a minute of few samples has no summary, and a stream without any has no table of them")
    func few() throws {
        let (store, _) = try newStore()
        try store.write(received(acceleration((0..<6000).map { $0 * 1_225_000 - start % 3_600_000_000 })))
        summarise(store)
        // Each minute has 48 or 49 samples.
        #expect(try StoreSchema.columns(of: "_minutes_accelerometer", in: store.database).isEmpty)
        #expect(try store.database.rows("SELECT upto > 0, until > 0 FROM _summarised") == ["1|0"])
    }

    @Test("a table of summaries that a person has dropped is made again, and samples are stored meanwhile")
    func dropped() throws {
        var (store, path): (SQLiteStore?, String) = try newStore()
        try store?.write(received(seconds(0..<8000)))
        if let store { summarise(store) }
        store?.close()
        store = nil
        try SQLiteDatabase(path: path, mode: .readWriteCreate).execute("DROP TABLE _minutes_accelerometer")
        let opened = try SQLiteStore(path: path)
        try opened.write(received(acceleration((0..<200).map { 500_000 + $0 * 1_000_000 - start % 3_600_000_000 })))
        summarise(opened)
        #expect(try minutes(opened) == 120)
    }

    @Test("summaries whose transaction fails after it has created their tables are made by the next one")
    func failure() throws {
        let (store, _) = try newStore()
        try store.write(received(seconds(0..<8000)))
        try store.database.execute(
            "CREATE TABLE _summarised (stream_id, device_id, upto CHECK (upto < 0), until, PRIMARY KEY (stream_id, device_id))"
        )
        summarise(store)
        #expect(try StoreSchema.columns(of: "_minutes_accelerometer", in: store.database).isEmpty)
        try store.database.execute("DROP TABLE _summarised")
        try store.write(received(acceleration([1 - start % 3_600_000_000])))
        summarise(store)
        #expect(try minutes(store) == 120)
    }

    @Test("columns that are declared later are empty in older minutes")
    func laterColumns() throws {
        let (store, _) = try newStore()
        try store.write(received(seconds(0..<4300)))
        summarise(store)
        try store.database.execute("ALTER TABLE _minutes_accelerometer DROP COLUMN z_max")
        #expect(try !SensorStream.accelerometer.hasMinutes(in: store.database))
        try SensorStream.accelerometer.addMinuteColumns(in: store.database)
        #expect(try SensorStream.accelerometer.hasMinutes(in: store.database))
    }

    @Test("buckets of a minute or more begin with whole minutes, within the range and the number of points")
    func buckets() throws {
        for (from, length, points) in [(7, 600_000_000, 10), (7, 600_000_001, 9), (0, 600_000_000, 10), (-5, 1, 1)] {
            let query = EnvelopeQuery(
                device: device("one"), stream: .accelerometer, from: Timestamp(microseconds: Int64(from)),
                to: Timestamp(microseconds: Int64(from + length)), points: points)
            let spans = query.spans
            #expect(spans.haveWholeMinutes == (length > 1))
            #expect(spans.origin <= query.times.lowerBound)
            #expect(spans.origin + Int64(points) * spans.width >= query.times.upperBound)
        }
        let minute = Minute.length
        #expect(Minute.whole(in: 1..<3 * minute - 1) == minute..<2 * minute)
        #expect(Minute.whole(in: minute..<2 * minute) == minute..<2 * minute && Minute.whole(in: 1..<2).isEmpty)
        #expect(Minute.whole(in: .min ..< .min + 1).isEmpty && Minute.whole(in: .max - 1 ..< .max).isEmpty)
    }
}

/// A random history of a store whose minutes are summarised from time to time.
private struct SummaryHistory {
    private static let streams: [SensorStream] = [.accelerometer, .location, .steps]
    private var random: SplitMix64
    private let clock = SimulatedClock()
    private var store: SQLiteStore
    private var path: String
    private var kills = 0
    private var requests = 0
    /// The time of the newest sample of each device, in µs since 1970.
    private var newest: [String: Int64] = ["one": start, "two": start]
    private let forgets: Bool

    /// - Parameter forgets: whether summaries are deleted when their minutes change.
    init(seed: UInt64, forgets: Bool = true) throws {
        random = SplitMix64(seed: seed)
        self.forgets = forgets
        path = TemporaryFolder.path + "/store"
        store = try Self.open(path, clock)
    }

    private static func open(_ path: String, _ clock: SimulatedClock) throws -> SQLiteStore {
        var options = SQLiteStore.Options.retaining(["location": 4 * 3_600_000_000], clock)
        options.survivesPowerLoss = false
        options.limits.summaryInterval = .seconds(3600)
        options.limits.slice = .zero
        return try SQLiteStore(path: path, options: options)
    }

    private mutating func number(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &random) }

    /// Returns samples with random values, of which some are unknown.
    private mutating func block(_ stream: SensorStream, _ times: [Int64]) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for time in times {
            let values = stream.columns.map { column -> Double in
                if number(0...9) == 0 { return .nan }
                switch column.kind {
                case .real: return Double.random(in: -180...180, using: &random)
                case .integer: return Double(number(0...1000))
                case .choice: return 0
                }
            }
            block.append(time: Timestamp(microseconds: time), values: values)
        }
        return block
    }

    private mutating func group() -> IngestGroup {
        var group = IngestGroup()
        for _ in 0...number(0...1) {
            let name = number(0...3) == 0 ? "two" : "one"
            let stream = Self.streams[Int(number(0...5)) % 3]
            let last = newest[name] ?? start
            var time = last
            switch number(0...9) {
            case 0...5: break
            case 6: time = last + number(0...1800) * 1_000_000
            // Late: at times that may be stored already, with other values.
            default: time = start + number(0...max(1, (last - start) / 1_000_000)) * 1_000_000
            }
            let step: Int64 = number(0...4) == 0 ? 1_000_000 : number(0...1) == 0 ? 800_000 : 3_000_000
            let times = (0..<number(1...300)).map { time + $0 * step }
            group.append(received(block(stream, times), from: device(name)))
            newest[name] = max(last, (times.last ?? time) + 1_000_000)
        }
        return group
    }

    mutating func step() throws {
        clock.set((newest.values.max() ?? start) + 1)
        switch number(0...19) {
        case 0...9: try store.write(group())
        case 10:
            try store.add(group())
            store.rollBack()
        case 11:
            requests += 1
            var group = IngestGroup()
            let from = start + number(0...max(1, (newest["one"] ?? start) - start))
            group.deletions = [
                Deletion(
                    id: "\(requests)", device: device("one"),
                    stream: number(0...2) == 0 ? nil : "motion/accelerometer",
                    times: from..<from + number(1...400_000_000), at: time(0), isSecure: false)
            ]
            try store.write(group)
        case 12: try kill()
        case 13, 14: if !store.isMerging { try store.startMerge() }
        case 15: try mergeAndSummarise()
        case 16:
            // Rules are looked at again.
            (store.retention.due, store.retention.rulesDue) = (.now, .now)
            while store.needsMaintenance { store.performMaintenance() }
        default:
            if !forgets {
                for stream in try tables {
                    try store.database.execute(
                        """
                        CREATE TEMP TRIGGER IF NOT EXISTS keep\(stream.minutesTable) BEFORE DELETE ON main.\(stream.minutesTable)
                        BEGIN SELECT RAISE(IGNORE); END
                        """)
                }
            }
            if number(0...2) == 0 { store.summaries.due = .now }
            for _ in 0..<number(1...60) where store.needsMaintenance { store.performMaintenance() }
        }
    }

    /// Opens the files as they are now, perhaps within a transaction, as if the process had been killed.
    private mutating func kill() throws {
        kills += 1
        if number(0...1) == 0 { try store.add(group()) }
        let copy = TemporaryFolder.path + "/store\(kills)"
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        path = copy
        store = try Self.open(path, clock)
    }

    mutating func mergeAndSummarise() throws {
        while store.needsMaintenance { store.performMaintenance() }
        try store.mergeAll()
        store.summaries.due = .now
        while store.needsMaintenance { store.performMaintenance() }
    }

    private var tables: [SensorStream] {
        get throws {
            try Self.streams.filter { try !StoreSchema.columns(of: $0.minutesTable, in: store.database).isEmpty }
        }
    }

    func summaryCount() throws -> Int64 {
        try tables.reduce(0) { try $0 + store.database.integer("SELECT count(*) FROM \($1.minutesTable)") }
    }

    /// Returns minutes of complete hours with enough samples that have no summary, except those that a deletion has cut.
    func missing() throws -> [String] {
        let isCut =
            try StoreSchema.columns(of: "deletions", in: store.database).isEmpty
            ? "0"
            : """
            EXISTS (SELECT 1 FROM deletions WHERE deletions.device_id = s.device_id
                AND from_t < s.t / 60000000 * 60000000 + 60000000 AND to_t > s.t / 60000000 * 60000000)
            """
        return try tables.filter { $0 != .location }.flatMap { stream in
            try store.database.rows(
                """
                SELECT s.device_id, s.t / 60000000 * 60000000 AS m, count(*) FROM \(stream.rowTable) AS s
                JOIN _summarised AS d ON d.device_id = s.device_id AND s.t < d.upto
                    AND d.stream_id = (SELECT stream_id FROM streams WHERE name = '\(stream.name)')
                WHERE NOT EXISTS (SELECT 1 FROM \(stream.minutesTable) AS x
                    WHERE x.device_id = s.device_id AND x.t = s.t / 60000000 * 60000000) AND NOT \(isCut)
                GROUP BY 1, 2 HAVING count(*) >= \(MinuteSummaries.leastSamples)
                """)
        }
    }

    /// Asks the same with and without summaries.
    mutating func differences() throws -> [String] {
        let driver = try SQLiteDriver(path: path)
        let reader = StoreReader(driver)
        let end = newest.values.max() ?? start
        var differences: [String] = []
        for stream in Self.streams {
            let from = start + number(-100...max(1, (end - start) / 1_000_000)) * 1_000_000 + number(0...1)
            let to = from + number(1...max(2, (end - start) / 1_000_000)) * 1_000_000
            let span = [60, 90, 600, 3600, 86_400][Int(number(0...4))] * Int64(1_000_000)
            let points = Int(number(1...90))
            let whole = number(0...2) == 0
            func answers(_ usesSummaries: Bool) throws -> [String] {
                driver.usesSummaries = usesSummaries
                var lines: [String] = []
                let limits: (Timestamp?, Timestamp?) =
                    whole ? (nil, nil) : (Timestamp(microseconds: from), Timestamp(microseconds: to))
                try reader.query(stream: stream, detail: .averages(span: span), from: limits.0, to: limits.1) { row in
                    lines.append("\(row.device) \(row.time.microseconds) \(row.values.map(\.description))")
                }
                for name in ["one", "two"] {
                    let envelope = try reader.envelope(
                        EnvelopeQuery(
                            device: device(name), stream: stream, from: Timestamp(microseconds: from),
                            to: Timestamp(microseconds: to), points: points))
                    lines += envelope.lines
                }
                return lines
            }
            let (expected, found) = (try answers(false), try answers(true))
            for (left, right) in zip(expected, found) where left != right {
                differences.append("\(stream.name) every \(span), \(points) points: \(left) is \(right)")
            }
            if expected.count != found.count { differences.append("\(stream.name): \(expected.count) \(found.count)") }
        }
        return differences
    }
}
