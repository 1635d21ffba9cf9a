import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Summaries that outlive their samples", .temporaryFolder)
struct SummaryRetentionTests {
    private let minute = Minute.length
    private let hour: Int64 = 3_600_000_000
    private let day: Int64 = 86_400_000_000
    /// The start of an hour, in µs after ``start``.
    private let whole = -start % 3_600_000_000

    private let path = TemporaryFolder.path + "/store"

    /// - Parameter summaries: the age of summaries, nil for no end; without it, they leave with their samples.
    private func open(_ clock: SimulatedClock, summaries: Int64?? = .some(nil)) throws -> SQLiteStore {
        try SQLiteStore(path: path, options: .retaining(["motion/*": day], clock, summaries: summaries))
    }

    /// Writes a sample of another device, so that two clocks agree on a time, in µs after ``start``.
    private func advance(_ store: SQLiteStore, _ clock: SimulatedClock, to time: Int64) throws {
        clock.set(start + time)
        try store.write(received(acceleration([time]), from: device("two")))
    }

    /// Samples with random values at some times, in µs after ``whole``.
    private func block(_ times: some Sequence<Int64>, seed: UInt64 = 1) -> SampleBlock {
        var random = SplitMix64(seed: seed)
        var block = SampleBlock(stream: .accelerometer)
        for time in times {
            let values = (0..<3).map { _ in Double.random(in: -9...9, using: &random) }
            block.append(
                time: Timestamp(microseconds: start + whole + time),
                values: [values[0], values[1], time % 7 == 0 ? .nan : values[2]])
        }
        return block
    }

    private func averages(_ reader: StoreReader, every span: Int64) throws -> [String] {
        var lines: [String] = []
        try reader.query(stream: .accelerometer, detail: .averages(span: span), devices: [DeviceID(unchecked: "one")]) {
            row in
            lines.append("\(row.time.microseconds - start - whole) \(row.values)")
        }
        return lines
    }

    private func envelope(_ reader: StoreReader, points: Int) throws -> [String] {
        try reader.envelope(
            EnvelopeQuery(
                device: device("one"), stream: .accelerometer, from: time(whole), to: time(whole + 3 * hour),
                points: points)
        ).lines
    }

    private func rows(_ reader: StoreReader) throws -> Int64 {
        try reader.database.integer("SELECT count(*) FROM accelerometer")
    }

    private func summaries(_ reader: StoreReader) throws -> [String] {
        try reader.database.rows(
            "SELECT (t - \(start + whole)) / \(minute), samples FROM _minutes_accelerometer WHERE device_id = 1 ORDER BY t"
        )
    }

    @Test(
        "after each slice, and after kills, averages and envelopes of whole minutes are those of all samples, until the summaries leave"
    )
    func answers() throws {
        let clock = SimulatedClock()
        var store = try open(clock, summaries: .some(10 * day))
        // An hour with a sample every 3 s, and ten minutes with 200 a second.
        try store.write(received(block((0..<1200).map { $0 * 3_000_000 } + (0..<120_000).map { hour + $0 * 5000 })))
        try store.mergeAll()
        let reader = try StoreReader(path: path)
        func all() throws -> [[String]] {
            try [60, 420, 3600].map { try averages(reader, every: $0 * 1_000_000) }
                + [3, 7, 180].map { try envelope(reader, points: $0) }
        }
        let before = try all()
        #expect(before[0].count == 70 && before[5].count == 70)
        try advance(store, clock, to: 2 * day)
        (store.retention.due, store.retention.rulesDue) = (.now, .now)
        var slices = 0
        while store.needsRemoval {
            store.performRemoval(maxDuration: .zero)
            slices += 1
            #expect(try all() == before, "slice \(slices)")
            if slices % 10 == 5 {
                withExtendedLifetime(consume store) {}
                store = try open(clock, summaries: .some(10 * day))
            }
        }
        #expect(slices > 25)
        #expect(try rows(reader) == 1 && summaries(reader).count == 70)
        // Nothing of a minute can be told, and spans that would divide one leave all of them out.
        #expect(try averages(reader, every: 30_000_000).isEmpty && averages(reader, every: 90_000_000).isEmpty)
        #expect(try envelope(reader, points: 181).isEmpty)
        #expect(try reader.overviews().first?.newest["motion/accelerometer"] == time(whole + 69 * minute))
        // Their own age.
        try advance(store, clock, to: 13 * day)
        store.applyRetention()
        #expect(try summaries(reader).isEmpty && averages(reader, every: hour).isEmpty)
    }

    @Test(
        "without a rule for them, summaries leave with their samples, and all that are left when the rule is left out later"
    )
    func noRule() throws {
        let clock = SimulatedClock()
        func expire(_ number: Int64, _ store: SQLiteStore) throws {
            try store.write(received(block((0..<200).map { number * 10 * day + $0 * 20_000_000 })))
            try store.mergeAll()
            try advance(store, clock, to: (number * 10 + 2) * day)
            store.applyRetention()
        }
        let reader = try {
            let store = try open(clock, summaries: nil)
            try expire(0, store)
            return try StoreReader(path: path)
        }()
        #expect(try averages(reader, every: hour).isEmpty)
        try {
            let store = try open(clock)
            try expire(1, store)
            store.applyRetention()
        }()
        #expect(try averages(reader, every: hour).count == 2 && summaries(reader).count == 67)
        let store = try open(clock, summaries: nil)
        store.applyRetention()
        #expect(try summaries(reader).isEmpty && averages(reader, every: hour).isEmpty)
    }

    @Test("samples that waited while the limit passed over them are added to the summaries of their minutes once")
    func waiting() throws {
        let clock = SimulatedClock()
        let (store, reader) = (try open(clock), try StoreReader(path: path))
        let dense = block((0..<400).map { $0 * 600_000 })
        try store.write(received(dense))
        try store.mergeAll()
        try store.write(received(block([1, 2, minute * 9 + 1], seed: 2)))
        try advance(store, clock, to: 2 * day)
        store.applyRetention()
        #expect(try averages(reader, every: hour)[0].hasSuffix("403.0]"))
        // A merge that fails after it has changed a summary is tried again.
        try store.startMerge()
        try store.database.execute(
            """
            CREATE TEMP TRIGGER f BEFORE INSERT ON main._minutes_accelerometer WHEN new.samples = 1
            BEGIN SELECT RAISE(ABORT, 'f'); END
            """)
        #expect(throws: (any Error).self) { try store.mergeSlice() }
        try store.database.execute("DROP TRIGGER f")
        try store.finishMerge()
        #expect(try averages(reader, every: hour)[0].hasSuffix("403.0]"))
        #expect(try envelope(reader, points: 3)[0].contains("|403|"))
        #expect(try summaries(reader) == ["0|102", "1|100", "2|100", "3|100", "9|1"])
        #expect(try reader.expiries().map(\.samples) == [403])
    }

    @Test("a program without the rules, such as lockstep delete, adds what has waited to the summaries as well")
    func withoutRules() throws {
        let clock = SimulatedClock()
        try {
            let store = try open(clock)
            try store.write(received(block((0..<400).map { $0 * 600_000 })))
            try store.mergeAll()
            try store.write(received(block([1, 2, minute * 9 + 1], seed: 2)))
            try advance(store, clock, to: 2 * day)
            store.applyRetention()
        }()
        var options = SQLiteStore.Options()
        options.isCollector = false
        let reader = try StoreReader(path: path)
        try {
            let store = try SQLiteStore(path: path, options: options)
            var group = IngestGroup()
            group.deletions = [
                Deletion(
                    id: "1", device: device("two"), stream: nil, times: Deletion.earliest..<start, at: time(0),
                    isSecure: false)
            ]
            try store.write(group)
            while store.needsMaintenance { store.performMaintenance() }
            #expect(try reader.deletions(of: nil).first?.done != nil)
        }()
        #expect(try summaries(reader) == ["0|102", "1|100", "2|100", "3|100", "9|1"])
        #expect(try reader.expiries().map(\.samples) == [403])
        // The rules are those of the last collector.
        _ = try open(clock, summaries: nil)
        let store = try SQLiteStore(path: path, options: options)
        #expect(store.retention.summaryRules.isEmpty)
    }

    @Test("summaries are made again from samples, and those of minutes whose samples have left stay")
    func rebuild() throws {
        let clock = SimulatedClock()
        let reader = try {
            let store = try open(clock)
            // Ten minutes that leave, except one on hold, and two hours that stay.
            try store.write(received(block((0..<600).map { $0 * 1_000_000 })))
            try store.write(received(block((0..<8000).map { 2 * day + $0 * 1_000_000 })))
            try store.mergeAll()
            _ = try HoldTable.add(
                to: path, device: device("one"), stream: nil, from: start + whole + 2 * minute,
                to: start + whole + 3 * minute, reason: "a fall", now: time(0))
            try advance(store, clock, to: whole + 2 * day + 3 * hour)
            store.applyRetention()
            summarise(store)
            return try StoreReader(path: path)
        }()
        let before = try averages(reader, every: hour)
        let writer = try SQLiteDatabase(path: path, mode: .readWrite)
        func damage() throws { try writer.execute("UPDATE _minutes_accelerometer SET x_sum = 99") }
        func damaged() throws -> Int64 {
            try reader.database.integer("SELECT count(*) FROM _minutes_accelerometer WHERE x_sum = 99")
        }
        try damage()
        #expect(try summaries(reader).count == 130)
        var options = SQLiteStore.Options()
        options.isCollector = false
        try {
            let store = try SQLiteStore(path: path, options: options)
            let rebuilt = try store.rebuildSummaries { _ in true }
            #expect(rebuilt.made == 121 && rebuilt.kept == 9)
        }()
        #expect(try summaries(reader).count == 130 && damaged() == 9)
        #expect(try Array(averages(reader, every: hour).dropFirst()) == Array(before.dropFirst()))
        // Interrupted before the first one is made: samples are read, and the collector goes on.
        try damage()
        try {
            let store = try SQLiteStore(path: path, options: options)
            var calls = 0
            let rebuilt = try store.rebuildSummaries { _ in
                calls += 1
                return calls <= 2
            }
            #expect(rebuilt.made == 0 && rebuilt.kept == 9)
        }()
        #expect(try Array(averages(reader, every: hour).dropFirst()) == Array(before.dropFirst()))
        let store = try open(clock)
        summarise(store)
        #expect(try summaries(reader).count == 130 && damaged() == 9)
    }

    @Test("the write-ahead log stays short while summaries are made again, and the share that is done is told")
    func rebuildLog() throws {
        var options = SQLiteStore.Options()
        options.isCollector = false
        options.limits.slice = .zero
        options.limits.checkpointPages = 100
        options.limits.checkpointRetryPages = 100
        let store = try SQLiteStore(path: path, options: options)
        try store.write(received(block((0..<50_000).map { $0 * 1_200_000 })))
        try store.write(received(block([0]), from: device("two")))
        try store.mergeAll()
        summarise(store)
        // A great many before these.
        try store.database.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            INSERT INTO _minutes_accelerometer (device_id, t, samples) SELECT 1, \(start + whole) - i * \(minute), 1 FROM n
            """)
        store.checkpoint()
        var deleted: [Double] = []
        var made: [Double] = []
        var longest = 0
        let rebuilt = try store.rebuildSummaries { progress in
            // The log begins again with the next transaction.
            if !deleted.isEmpty { longest = max(longest, store.database.logPages) }
            switch progress {
            case .deleting(let share): deleted.append(share)
            case .making(let share): made.append(share)
            }
            return true
        }
        #expect(longest < 300)
        #expect(deleted == deleted.sorted() && deleted.first == 0 && deleted.last ?? 0 >= 0.5)
        #expect(made == made.sorted() && made.first == 0 && made.last == 1)
        #expect(rebuilt.made == 960 && rebuilt.kept == 0)
    }

    @Test("a store opens without a write if the rules for summaries are those of the last collector")
    func unchangedRules() throws {
        let clock = SimulatedClock()
        _ = try open(clock)
        try SQLiteDatabase(path: path, mode: .readWrite).execute(
            "CREATE TRIGGER refuse BEFORE DELETE ON _summary_rules BEGIN SELECT RAISE(ABORT, 'written'); END")
        _ = try open(clock)
        #expect(throws: StoreError.self) { _ = try open(clock, summaries: day) }
    }

    private func summarise(_ store: SQLiteStore) {
        store.summaries.due = .now
        repeat { store.performSummaries() } while store.needsSummaries
    }

    @Test("late samples change no summary that stands alone, also on hold, and held minutes stay as a whole")
    func late() throws {
        let clock = SimulatedClock()
        let (store, reader) = (try open(clock), try StoreReader(path: path))
        try store.write(received(block((0..<600).map { $0 * 1_000_000 })))
        try store.mergeAll()
        func hold(_ from: Int64, _ to: Int64) throws -> Int64 {
            try HoldTable.add(
                to: path, device: device("one"), stream: nil, from: start + whole + from, to: start + whole + to,
                reason: "a fall", now: time(0))
        }
        // Parts of the minutes 2 and 6.
        var holds = [try hold(150_000_000, 170_000_000), try hold(390_000_000, 400_000_000)]
        try advance(store, clock, to: 2 * day)
        store.applyRetention()
        #expect(try rows(reader) == 121)
        holds.append(try hold(0, hour))
        store.applyRetention()
        // Again, late, and in a minute that has never had samples. Between those of the minutes 2 and 6 are only summaries.
        let result = try store.write(
            received(block([0, 1_000_000, 130_000_001, 380_000_001, 420_000_001, 700_000_001])))
        #expect(result.devices[device("one")] == IngestResult.Counts(stored: 3, expired: 3))
        try store.mergeAll()
        #expect(try averages(reader, every: hour)[0].hasSuffix("603.0]"))
        #expect(try summaries(reader).count == 8)
        for id in holds { try HoldTable.remove(id, from: path) }
        store.applyRetention()
        #expect(try rows(reader) == 1)
        #expect(try averages(reader, every: hour)[0].hasSuffix("603.0]"))
        #expect(try summaries(reader).count == 11)
    }

    @Test("a transaction that fails leaves rows and summaries as they were, and the next one goes on")
    func failure() throws {
        let clock = SimulatedClock()
        let (store, reader) = (try open(clock), try StoreReader(path: path))
        try store.write(received(block((0..<3000).map { $0 * 2_000_000 })))
        try store.mergeAll()
        let before = try averages(reader, every: hour)
        try advance(store, clock, to: 2 * day)
        try store.database.execute(
            """
            CREATE TEMP TRIGGER f BEFORE DELETE ON main._accelerometer BEGIN SELECT RAISE(ABORT, 'f'); END
            """)
        store.retention.due = .now
        store.performRemoval(maxDuration: .zero)
        #expect(store.retention.hasFailed)
        #expect(try StoreSchema.columns(of: "_minutes_accelerometer", in: reader.database).isEmpty)
        try store.database.execute("DROP TRIGGER f")
        store.retention.retryAt = nil
        store.applyRetention()
        #expect(try averages(reader, every: hour) == before && rows(reader) == 1)
    }

    @Test("a deletion removes the summaries of the minutes that it touches, and its preview counts them")
    func deletion() throws {
        let clock = SimulatedClock()
        let (store, reader) = (try open(clock), try StoreReader(path: path))
        try store.write(received(block((0..<600).map { $0 * 1_000_000 })))
        clock.set(start + 2 * day)
        try store.write(received(block([2 * day])))
        try store.mergeAll()
        store.applyRetention()
        #expect(try summaries(reader).count == 10)
        let from = start + whole + 90_000_000
        let deletion = Deletion(
            id: "1", device: device("one"), stream: "motion/accelerometer", times: from..<from + minute, at: time(0),
            isSecure: false)
        let days = try reader.preview(of: deletion)
        #expect(days.map(\.count) == [120] && days.first?.first == time(whole + minute))
        // An archive has samples only.
        #expect(try reader.preview(of: deletion, withSummaries: false).isEmpty)
        var group = IngestGroup()
        group.deletions = [deletion]
        try store.write(group)
        while store.needsMaintenance { store.performMaintenance() }
        #expect(try summaries(reader).map { $0.prefix(1) } == ["0", "3", "4", "5", "6", "7", "8", "9"])
        #expect(try averages(reader, every: hour)[0].hasSuffix("480.0]"))
        #expect(try reader.deletions(of: device("one")).map(\.count) == [120])
        group.deletions = [
            Deletion(
                id: "2", device: device("one"), stream: nil, times: Deletion.earliest..<start + 2 * day, at: time(0),
                isSecure: true)
        ]
        try store.write(group)
        while store.needsMaintenance { store.performMaintenance() }
        #expect(try summaries(reader).isEmpty && reader.preview(of: group.deletions[0]).isEmpty)
    }

    @Test("at the limit of size, whole minutes leave and keep their summaries")
    func size() throws {
        let clock = SimulatedClock()
        var options = SQLiteStore.Options.retaining([:], clock, summaries: .some(nil))
        options.retention.maxSize = .bytes(400_000)
        let store = try SQLiteStore(path: path, options: options)
        for number in 0..<100 as Range<Int64> {
            clock.set(start + whole + (number + 1) * 200_000_000)
            try store.write(received(block((0..<200).map { (number * 200 + $0) * 1_000_000 })))
            store.applyRetention()
        }
        try store.mergeAll()
        let reader = try StoreReader(path: path)
        let samples = try averages(reader, every: hour).compactMap { $0.split(separator: " ").last }
        #expect(samples == ["3600.0]", "3600.0]", "3600.0]", "3600.0]", "3600.0]", "2000.0]"])
        #expect(try rows(reader) < 15_000)
    }

    @Test("at the limit of size, only minutes with at least eight samples keep a summary")
    func few() throws {
        let clock = SimulatedClock()
        var options = SQLiteStore.Options.retaining([:], clock, summaries: .some(nil))
        options.retention.maxSize = .bytes(600_000)
        let store = try SQLiteStore(path: path, options: options)
        // Eight samples in even minutes, and seven in odd ones.
        for number in 0..<100 as Range<Int64> {
            clock.set(start + whole + (number + 1) * 20 * minute)
            var times: [Int64] = []
            for index in number * 20..<(number + 1) * 20 {
                for sample in 0..<(8 - index % 2) as Range<Int64> { times.append(index * minute + sample * 7_000_000) }
            }
            try store.write(received(block(times)))
            store.applyRetention()
        }
        try store.mergeAll()
        let reader = try StoreReader(path: path)
        let oldest = try reader.database.integer(
            "SELECT (min(t) - \(start + whole)) / \(minute) FROM _accelerometer")
        #expect(oldest > 100)
        let made = try summaries(reader)
        let expected = stride(from: 0, to: oldest, by: 2).map { "\($0)|8" }
        #expect(made == expected)
    }
}
