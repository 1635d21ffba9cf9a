import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Schedule of averages in ClickHouse")
struct AverageScheduleTests {
    @Test("a time range is divided into minutes with a summary and groups of gaps")
    func plan() {
        let hour = SummaryPlan.shortRange
        #expect(
            Minute.gaps(in: 0..<200_000_000, between: [60_000_000]) == [0..<60_000_000, 120_000_000..<200_000_000])
        #expect(Minute.gaps(in: 0..<60_000_000, between: [0]) == [])
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
        let select = SummarySelect(
            stream: .accelerometer, device: 1, columns: [], spans: SummarySpans(origin: 10, width: 90_000_000))
        #expect(select.spans.start(of: 9) == 10 - 90_000_000 && select.spans.start(of: 10) == 10)
        #expect(!select.spans.contains(minute: 0, in: 0 ..< .max))
        #expect(select.spans.contains(minute: 120_000_000, in: 0 ..< .max))
        #expect(!select.spans.contains(minute: 120_000_000, in: 0..<179_999_999))
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
}
