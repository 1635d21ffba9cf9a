import LockstepModel
import LockstepSensors
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The change of the clock between two runs", .temporaryFolder)
struct OutboxClockTests {
    private static let week: Int64 = 7 * 86_400_000_000
    private static let month: Int64 = 30 * 86_400_000_000

    private func clock(_ bootID: String, offset: Int64, at wall: Int64 = 0) -> OutboxClock {
        OutboxClock(bootID: bootID, wall: time(wall), offset: offset)
    }

    private func open(_ clock: OutboxClock) throws -> Outbox {
        try Outbox(path: TemporaryFolder.path + "/outbox", limits: .init(age: Self.week), clock: clock)
    }

    @Test("the clock is steady if boot id and offset are the same, within the step threshold")
    func steady() {
        let limit = TimeLine.stepThreshold
        let now = clock("a", offset: 1000)
        #expect(now.change(since: ("a", 1000), newest: time(limit).microseconds) == .steady)
        #expect(now.change(since: ("a", 1000 - limit), newest: nil) == .steady)
        #expect(now.change(since: ("a", 1001 + limit), newest: nil) == .wasSet)
        #expect(now.change(since: ("a", .min), newest: nil) == .wasSet)
        #expect(now.change(since: ("a", 1000), newest: time(limit + 1).microseconds) == .wasSet)
        #expect(now.change(since: ("b", 1000), newest: time(0).microseconds) == .restarted)
        #expect(now.change(since: nil, newest: nil) == .restarted)
        #expect(clock("", offset: 0).change(since: ("", 0), newest: nil) == .restarted)
    }

    @Test("two readings of this machine's clock are steady")
    func current() {
        let first = OutboxClock.now()
        let second = OutboxClock.now()
        #expect(second.change(since: (first.bootID, first.offset), newest: first.wall.microseconds) == .steady)
    }

    @Test("after the clock was set, a new epoch starts and no batch is dropped", arguments: [month, -month])
    func wasSet(_ step: Int64) throws {
        let old: Epoch
        do {
            let outbox = try open(clock("a", offset: 0))
            old = outbox.epoch
            #expect(!outbox.wasClockSet)
            _ = try outbox.commit(appending: [block([1])], at: time(0))
        }
        do {
            let outbox = try open(clock("a", offset: step, at: step))
            #expect(outbox.wasClockSet && outbox.epoch != old)
            let (entries, dropped) = try outbox.commit(appending: [block([1])], at: time(step + 10))
            #expect(dropped == Outbox.Dropped())
            #expect(entries.map(\.position.seq) == [1])
        }
        // The clock is steady from then on.
        let outbox = try open(clock("a", offset: step, at: step + 20))
        #expect(!outbox.wasClockSet)
        #expect(try outbox.commit(appending: [], at: time(step + 30)).dropped == Outbox.Dropped())
        #expect(outbox.pending() == [old: [1...1], outbox.epoch: [1...1]])
    }

    @Test("a restart of the machine keeps the epoch and drops no earlier batch by its age")
    func restarted() throws {
        let epoch: Epoch
        do {
            let outbox = try open(clock("a", offset: 0))
            epoch = outbox.epoch
            _ = try outbox.commit(appending: [block([1])], at: time(0))
        }
        let outbox = try open(clock("b", offset: 5 * Self.month, at: Self.month))
        #expect(outbox.epoch == epoch && !outbox.wasClockSet)
        _ = try outbox.commit(appending: [block([2])], at: time(Self.month))
        let dropped = try outbox.commit(appending: [], at: time(Self.month + Self.week + 1)).dropped
        #expect(dropped == Outbox.Dropped())
        _ = try outbox.commit(appending: [], removing: [epoch: [1...1]], at: time(Self.month))
        let aged = try outbox.commit(appending: [], at: time(Self.month + Self.week + 1)).dropped
        #expect(aged.batches == [epoch: [2...2]])
    }

    @Test("after a restart with an earlier clock, a new epoch starts")
    func wentBack() throws {
        do { _ = try open(clock("a", offset: 0)).commit(appending: [block([1])], at: time(0)) }
        #expect(try open(clock("b", offset: 0, at: -Self.month)).wasClockSet)
    }
}
