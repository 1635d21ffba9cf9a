import LockstepModel
import Testing

@testable import LockstepStore

@Suite("Decisions of retention")
struct RetentionDecisionTests {
    private let day: Int64 = 86_400_000_000

    private func rules(_ texts: [(String, Int64?)]) throws -> KeepRules {
        try KeepRules(texts.map { (try StreamPattern($0.0), $0.1) })
    }

    @Test("the most specific rule counts: device, then group, then stream, then a part of the name")
    func specific() throws {
        let rules = try rules([
            ("*", 1), ("motion/*", 2), ("motion/gyroscope", 3), ("lab/*/*", 4), ("lab/*/location", 5), ("*/left/*", 6),
            ("lab/left/location", nil),
        ])
        func age(_ stream: String, _ group: String, _ name: String) -> Int64? {
            rules.age(of: stream, device(name, group: group))
        }
        #expect(age("steps", "field", "a") == 1)
        #expect(age("motion/accelerometer", "field", "a") == 2)
        #expect(age("motion/gyroscope", "field", "a") == 3)
        #expect(age("motion/gyroscope", "lab", "a") == 4)
        #expect(age("location", "lab", "a") == 5)
        #expect(age("steps", "lab", "left") == 6)
        #expect(age("location", "field", "left") == 6)
        #expect(age("location", "lab", "left") == nil)
        #expect(KeepRules.everything.age(of: "steps", device("a")) == nil)
    }

    @Test(
        "a pattern that selects nothing is refused",
        arguments: [
            "", "motion", "moton/*", "motion/*/x", "lab/left", "lab//location", "l*/left/steps", "lab/left/stepz",
        ])
    func invalid(text: String) { #expect(throws: KeepRuleError.self) { try StreamPattern(text) } }

    @Test("a stream of your own is selected by its name, and by its first level")
    func declared() throws {
        #expect(try StreamPattern("x/air/co2").selects("x/air/co2"))
        #expect(try StreamPattern("x/*").selects("x/air/co2"))
        #expect(try StreamPattern("lab/left/x/co2").selects("x/co2", of: device("left")))
        #expect(throws: KeepRuleError.self) { try rules([("steps", 1), ("steps", 2)]) }
    }

    @Test("the limit moves in steps of at most a sixteenth of the age")
    func limit() {
        #expect(KeepRules.step(ofAge: 90 * day) == day)
        #expect(KeepRules.step(ofAge: 7 * day) == day / 4)
        #expect(KeepRules.step(ofAge: day / 24) == 60_000_000)
        #expect(KeepRules.limit(ofAge: 90 * day, at: 100 * day + 5) == 10 * day)
        #expect(KeepRules.limit(ofAge: 90 * day, at: 101 * day - 1) == 10 * day)
        #expect(KeepRules.limit(ofAge: 90 * day, at: 80 * day + 1) == -10 * day)
    }

    @Test("one clock that is ahead, of the collector or of one device, does not move the limit")
    func clocks() {
        #expect(KeepRules.now(collector: 100, newest: [50, 60, 7]) == 60)
        #expect(KeepRules.now(collector: 100, newest: [9000, 60, 7]) == 100)
        #expect(KeepRules.now(collector: 9000, newest: [90, 60, 7]) == 90)
        // One of two devices has stopped long ago.
        #expect(KeepRules.now(collector: 100, newest: [99, 7]) == 99)
        #expect(KeepRules.now(collector: 55, newest: [60, 60]) == 55)
        #expect(KeepRules.now(collector: 100, newest: [60]) == 60)
        #expect(KeepRules.now(collector: 100, newest: []) == nil)
    }

    @Test("held ranges are left out, also if they overlap")
    func holds() {
        #expect(Hold.free(0..<100, of: []) == [0..<100])
        #expect(Hold.free(0..<100, of: [40..<60, 10..<20, 15..<30]) == [0..<10, 30..<40, 60..<100])
        #expect(Hold.free(0..<100, of: [-5..<10, 90..<200]) == [10..<90])
        #expect(Hold.free(0..<100, of: [0..<100]) == [])
        #expect(Hold.free(0..<100, of: [100..<200]) == [0..<100])
    }

    @Test(
        "more than half of a stream does not leave at once",
        arguments: [(3, 4, true), (4, 4, true), (5, 4, false), (0, 0, true)])
    func share(leaving: Int, staying: Int, isAllowed: Bool) {
        let targets = [0, 1].map {
            Removal.Target(table: "_\($0)", key: "device_id = 1", range: 0..<start, series: .init(table: $0, device: 1))
        }
        var pass = Removal(
            .rules, targets, checks: [ShareCheck(table: 0, limits: [(1, start), (2, .min)], far: [1])])
        var rest = [1: leaving, 2: staying]
        var failed: ShareCheck?
        while let part = pass.checks.first?.part {
            // The first device has nothing that stays.
            let isStaying = part.device == 1 && part.times.lowerBound >= start
            let count = isStaying ? 0 : min(2, rest[Int(part.device)] ?? 0)
            if !isStaying { rest[Int(part.device)]? -= count }
            failed = pass.didCount(count, last: max(part.times.lowerBound, KeepRules.earliest) + 1, limit: 2)
        }
        #expect((failed == nil) == isAllowed)
        #expect(pass.current?.table == (isAllowed ? "_0" : "_1"))
    }

    @Test("streams leave a full store in the order of the settings, then those with the highest rate")
    func order() throws {
        let streams = [(0, "steps", 1.0), (1, "location", 3.0), (2, "motion/gyroscope", 9.0), (3, "battery", 5.0)]
            .map { (table: $0.0, name: $0.1, rate: $0.2) }
        #expect(RetentionState.order(streams, by: []) == [2, 3, 1, 0])
        let order = [try StreamPattern("steps"), try StreamPattern("battery")]
        #expect(RetentionState.order(streams, by: order) == [0, 3, 2, 1])
    }

    @Test("the forecast needs ten minutes, and a store that grows")
    func forecast() {
        let minute: Int64 = 60_000_000
        var forecast = SpaceForecast()
        for step in 0...9 as ClosedRange<Int64> { forecast.record(1000 * step, at: step * minute) }
        #expect(forecast.time(until: 5000) == nil)
        forecast.record(10_000, at: 10 * minute)
        #expect(forecast.time(until: 5000) == 5 * minute)
        #expect(forecast.time(until: -1) == 0)
        for step in 11...30 as ClosedRange<Int64> { forecast.record(0, at: step * minute) }
        #expect(forecast.time(until: 5000) == nil)
    }

    @Test("a process that reads is found by its lock, and its age counts from the first look at which it was found")
    func readers() {
        let locks = """
            1: POSIX  ADVISORY  READ 410 08:01:77 123 123
            2: POSIX  ADVISORY  WRITE 411 08:01:77 124 124
            3: POSIX  ADVISORY  READ 412 08:01:77 128 128
            4: POSIX  ADVISORY  READ 413 08:01:78 124 124
            5: OFDLCK ADVISORY  READ -1 08:01:77 124 124
            6: POSIX  ADVISORY  READ 500 08:01:77 124 124
            6: -> POSIX  ADVISORY  READ 501 08:01:77 124 124
            7: POSIX  ADVISORY  READ 414 08:01:77 127 127
            """
        #expect(LogReaders.processes(in: locks, inode: 77, except: 500) == [410, 414])
        var readers = LogReaders()
        readers.record([410, 414], at: 10)
        readers.record([414], at: 20)
        readers.record([410, 414], at: 30)
        #expect(readers.oldest(at: 40) == .init(process: 414, age: 30))
        readers.record([], at: 50)
        #expect(readers.oldest(at: 50) == nil)
    }

    @Test("rows leave in pieces, without those that are held, one target after the other")
    func pieces() {
        var removal = Removal(
            .rules,
            [
                .init(table: "a", key: "", range: 0..<100, isSamples: true), .init(table: "b", key: "", range: 0..<10),
            ])
        #expect(removal.piece(holds: [20..<30]) == 0..<20)
        removal.didRemove(7, before: 15)
        #expect(removal.piece(holds: [20..<30]) == 15..<20)
        removal.didRemove(2, before: 20)
        #expect(removal.piece(holds: [20..<30]) == 30..<100)
        removal.didRemove(5, before: 100)
        #expect(removal.piece(holds: [20..<30]) == nil && removal.samples == 14)
        removal.endTarget()
        #expect(removal.current?.table == "b" && removal.piece(holds: []) == 0..<10)
        removal.didRemove(3, before: 10)
        #expect(removal.samples == 14 && removal.rows == 17)
    }

    @Test("what leaves pauses after a slice while samples arrive, unless it leaves more slowly than they do")
    func pause() {
        let now = ContinuousClock.now
        var state = RetentionState(Retention(), summaryRules: .everything)
        func pauses(after time: Duration) -> Bool { state.isPausing(at: now + time) }
        #expect(!pauses(after: .zero))
        state.pauseEnd = now + .milliseconds(1500)
        // Nothing was ever stored.
        #expect(!pauses(after: .zero))
        state.storedAt = now
        #expect(pauses(after: .zero) && pauses(after: .milliseconds(999)) && !pauses(after: .seconds(1)))
        state.storedAt = now + .seconds(1)
        #expect(pauses(after: .milliseconds(1499)) && !pauses(after: .milliseconds(1500)))
        state.owed = RetentionState.maxOwed / 2
        #expect(pauses(after: .zero))
        state.owed += 1
        #expect(!pauses(after: .zero))
    }

    @Test("a sample is not stored if it was deleted, or is before the limit and not held")
    func reasons() {
        let removed = RemovedTimes(
            limit: KeepRules.earliest + 100, held: [KeepRules.earliest + 10..<KeepRules.earliest + 20],
            deleted: [(3, KeepRules.earliest + 5..<KeepRules.earliest + 15), (4, 1..<2)])
        let expected: [Int64: RemovedTimes.Reason?] = [
            0: .expired, 5: .deleted(3), 14: .deleted(3), 15: nil, 19: nil, 20: .expired, 99: .expired, 100: nil,
        ]
        for (offset, reason) in expected { #expect(removed.reason(KeepRules.earliest + offset) == reason) }
        #expect(removed.reason(1) == .deleted(4) && removed.reason(2) == nil)
    }
}
