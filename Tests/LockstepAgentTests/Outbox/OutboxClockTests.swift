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

    /// Returns a sample of a time after `start`.
    private func sample(_ time: Int64, _ stream: SensorStream = .accelerometer) -> SampleBlock {
        block([start + time], stream)
    }

    @Test("the clock was set if its offset has changed by more than the step threshold since the last run")
    func steps() {
        let limit = TimeLine.stepThreshold
        let now = clock("a", offset: 1000)
        #expect(now.change(since: ("a", 1000), newest: time(0).microseconds) == .steady)
        #expect(now.change(since: ("a", 1000 - limit), newest: nil) == .steady)
        #expect(now.change(since: ("a", 1001 + limit), newest: nil) == .wasSet)
        #expect(now.change(since: ("a", .min), newest: nil) == .wasSet)
        #expect(now.change(since: nil, newest: nil) == .steady)
        // After a restart of the machine, the offset has no meaning.
        #expect(now.change(since: ("b", .min), newest: time(0).microseconds) == .steady)
        #expect(clock("", offset: 0).change(since: ("", .min), newest: nil) == .steady)
    }

    @Test("a clock before the newest sample is earlier, whatever the boot id", arguments: ["a", "b", ""])
    func earlier(_ bootID: String) {
        let now = clock(bootID, offset: 1000)
        #expect(now.change(since: ("a", 1000), newest: time(1).microseconds) == .isEarlier(than: time(1)))
        #expect(now.change(since: nil, newest: time(1).microseconds) == .isEarlier(than: time(1)))
    }

    @Test("two readings of this machine's clock are steady")
    func current() {
        let first = OutboxClock.now()
        let second = OutboxClock.now()
        #expect(second.change(since: (first.bootID, first.offset), newest: first.wall.microseconds) == .steady)
        #expect(second.isSameBoot(as: (first.bootID, first.offset)))
        #expect(!clock("", offset: 0).isSameBoot(as: ("", 0)))
    }

    @Test("after the clock was set, a new epoch starts and no batch is dropped", arguments: [month, -month])
    func wasSet(_ step: Int64) throws {
        let old: Epoch
        do {
            let outbox = try open(clock("a", offset: 0))
            old = outbox.epoch
            #expect(outbox.clockChange == .steady)
            _ = try outbox.commit(appending: [block([1])], at: 0)
        }
        do {
            let outbox = try open(clock("a", offset: step, at: step))
            #expect(outbox.clockChange == .wasSet && outbox.epoch != old)
            let (entries, dropped) = try outbox.commit(appending: [block([1])], at: 10)
            #expect(dropped == Outbox.Dropped())
            #expect(entries.map(\.position.seq) == [1])
        }
        // The clock is steady from then on.
        let outbox = try open(clock("a", offset: step, at: step + 20))
        #expect(outbox.clockChange == .steady)
        #expect(try outbox.commit(appending: [], at: 30).dropped == Outbox.Dropped())
        #expect(outbox.pending == [old: [1...1], outbox.epoch: [1...1]])
    }

    @Test("the age of a batch continues when the clock is set and when the agent restarts")
    func age() throws {
        let old: Epoch
        do {
            let outbox = try open(clock("a", offset: 0))
            old = outbox.epoch
            _ = try outbox.commit(appending: [sample(0)], at: 0)
            try outbox.startEpoch(clock: clock("a", offset: Self.month, at: Self.month))
            #expect(try outbox.commit(appending: [sample(Self.month)], at: 10).dropped == Outbox.Dropped())
        }
        let outbox = try open(clock("a", offset: Self.month, at: Self.month + 20))
        #expect(try outbox.commit(appending: [], at: Self.week).dropped == Outbox.Dropped())
        let dropped = try outbox.commit(appending: [], at: Self.week + 1).dropped
        #expect(dropped.batches == [0: [old: [1...1]]] && dropped.agedSamples == 1)
    }

    @Test("a restart of the machine keeps the epoch and drops no earlier batch by its age")
    func restarted() throws {
        let epoch: Epoch
        do {
            let outbox = try open(clock("a", offset: 0))
            epoch = outbox.epoch
            _ = try outbox.commit(appending: [block([1])], at: 0)
        }
        let outbox = try open(clock("b", offset: 5 * Self.month, at: Self.month))
        #expect(outbox.epoch == epoch && outbox.clockChange == .steady)
        _ = try outbox.commit(appending: [block([2])], at: 0)
        let dropped = try outbox.commit(appending: [], at: Self.week + 1).dropped
        #expect(dropped == Outbox.Dropped())
        _ = try outbox.commit(appending: [], removing: [epoch: [1...1]], at: Self.week)
        let aged = try outbox.commit(appending: [], at: Self.week + 1).dropped
        #expect(aged.batches == [0: [epoch: [2...2]]])
    }

    @Test(
        "after a restart with an earlier clock, a new epoch starts, whatever the outbox holds",
        arguments: [false, true])
    func wentBack(isDelivered: Bool) throws {
        let old: Epoch
        do {
            let outbox = try open(clock("a", offset: 0))
            old = outbox.epoch
            // The newest sample is not in the newest batch.
            _ = try outbox.commit(appending: [sample(-10), sample(-5, .steps), sample(-20)], at: 0)
            if isDelivered { _ = try outbox.commit(appending: [], removing: [old: [1...3]], at: 1) }
        }
        do {
            let outbox = try open(clock("b", offset: 0, at: -6))
            #expect(outbox.epoch != old && outbox.clockChange == .isEarlier(than: time(-5)))
        }
        // The new epoch has no samples yet, so an even earlier clock needs no other one.
        #expect(try open(clock("c", offset: 0, at: -Self.month)).clockChange == .steady)
    }

    @Test("the newest times are those of the current epoch")
    func epochs() throws {
        do {
            let outbox = try open(clock("a", offset: 0))
            _ = try outbox.commit(appending: [sample(-5)], at: 0)
            try outbox.startEpoch(clock: clock("a", offset: -Self.month, at: -Self.month))
            _ = try outbox.commit(appending: [sample(-Self.month)], at: 0)
        }
        do {
            let outbox = try open(clock("b", offset: 0, at: 1 - Self.month))
            #expect(outbox.clockChange == .steady)
            #expect(outbox.devices[0].newest == [SensorStream.accelerometer.name: start - Self.month])
        }
        #expect(try open(clock("b", offset: 0, at: -1 - Self.month)).clockChange == .isEarlier(than: time(-Self.month)))
    }
}
