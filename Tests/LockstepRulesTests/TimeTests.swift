import LockstepModel
import LockstepRules
import Testing

@Suite struct TimeTests {
    @Test("a state notifies when it begins, or once it has lasted")
    func states() throws {
        var now = try Bench("rules: {gone: {when: {state: [background, terminated]}}}")
        now.become(.active, 0)
        now.become(.background, 10)
        now.become(.terminated, 20)
        now.become(.active, 30)
        now.become(.terminated, 40)
        #expect(now.times == [10, 40])
        var lasting = try Bench("rules: {gone: {when: {state: background, for: 5m}}}")
        lasting.become(.background, 0)
        lasting.tick(299)
        lasting.become(.active, 299.5)
        lasting.tick(400)
        #expect(lasting.times.isEmpty)
        lasting.become(.background, 500)
        lasting.tick(800)
        lasting.tick(900)
        #expect(lasting.times == [800])
        var ended = try Bench("rules: {gone: {when: {state: background, for: 5m}}}")
        ended.become(.background, 0)
        ended.tick(299)
        ended.become(.active, 300.5)
        ended.tick(301)
        ended.become(.background, 400)
        ended.tick(701)
        #expect(ended.times == [300, 700], "a state may end before the tick that would have told it")
    }

    @Test(
        "a state notifies when it has lasted long enough, also if the clock is set meanwhile",
        arguments: [7200, 4_000_000_000, -86_400, -50_000_000.0])
    func clockIsSet(_ ahead: Double) throws {
        let rule = "rules: {gone: {when: {state: background, for: 5m}, cooldown: 1m}}"
        var bench = try Bench(rule)
        bench.clockAhead = ahead
        bench.become(.background, 10)
        bench.tick(200)
        bench.clockAhead = 0
        bench.tick(309)
        #expect(bench.times.isEmpty)
        bench.tick(311)
        #expect(bench.times == [310])
        #expect(bench.events.allSatisfy { !$0.isLate })
        bench.become(.active, 400)
        bench.become(.background, 500)
        bench.tick(801)
        #expect(bench.times == [310, 800])

        // The state ends before the tick, or just before it would have lasted long enough.
        for (end, times) in [(311.0, [310.0]), (309.0, [])] {
            var ended = try Bench(rule)
            ended.clockAhead = ahead
            ended.become(.background, 10)
            ended.clockAhead = 0
            ended.become(.active, end)
            #expect(ended.times == times)
        }
    }

    @Test("a restart with a state of the future continues from the start")
    func restartAfterClockWasAhead() throws {
        let rule = "rules: {gone: {when: {state: background, for: 5m}}}"
        var before = try Bench(rule)
        before.clockAhead = 7200
        before.become(.background, 10)
        var bench = try Bench(rule, states: before.engine.changes, start: 100)
        bench.tick(399)
        #expect(bench.times.isEmpty)
        bench.tick(401)
        #expect(bench.times == [400])
    }

    @Test("a notification of the time when the clock was ahead does not suppress later ones, nor end their cool-down")
    func cooldownAfterClockWasAhead() throws {
        var bench = try Bench("rules: {gone: {when: {state: background}, cooldown: 1h}}")
        bench.clockAhead = 1800
        bench.become(.background, 0)
        bench.become(.active, 1)
        bench.clockAhead = 0
        bench.become(.background, 2)
        bench.become(.active, 3)
        bench.become(.background, 4)
        #expect(bench.times == [1800, 2])
    }

    @Test("silence notifies once, and again after new data; a lost broker is not silence")
    func silence() throws {
        var bench = try Bench("rules: {quiet: {when: {silence: any, for: 60s}}}")
        bench.tick(59)
        #expect(bench.times.isEmpty)
        bench.tick(61)
        bench.tick(100)
        #expect(bench.times == [61])
        bench.pressure((110, 1))
        bench.tick(169)
        #expect(bench.times == [61])
        bench.tick(180, listeningSince: 175)
        #expect(bench.times == [61], "the broker was away until 175")
        bench.tick(236, listeningSince: 175)
        #expect(bench.times == [61, 236])
    }

    @Test("silence of one stream ignores other streams")
    func streamSilence() throws {
        var bench = try Bench("rules: {quiet: {when: {silence: location, for: 60s}}}")
        bench.pressure((50, 1))
        bench.tick(60)
        #expect(bench.times == [60])
    }

    @Test("health notifies when a figure passes its limit, once")
    func health() throws {
        let yaml = """
            rules:
              gaps: {when: {health: gaps, above: 2}}
              disk: {when: {health: disk, below: 10 %}}
              clock: {when: {health: clock, above: 5s}}
            """
        var bench = try Bench(yaml)
        let moment = { (seconds: Double) in
            Moment(wall: Timestamp(microseconds: microseconds(monday + seconds)), boot: 0, awake: 0)
        }
        for (index, missing) in [0, 2, 3, 4, 1, 3].enumerated() {
            bench.engine.delivery(
                missing: Int64(missing), dropped: 0, of: 1, at: moment(Double(index)), into: &bench.events)
        }
        #expect(bench.times == [2, 5])
        bench.engine.disk(free: 0.2, at: moment(10), into: &bench.events)
        bench.engine.disk(free: 0.09, at: moment(11), into: &bench.events)
        bench.engine.disk(free: 0.08, at: moment(12), into: &bench.events)
        #expect(bench.times == [2, 5, 11])
        #expect(bench.events.last?.device == nil)
        bench.delay = -10
        bench.pressure((100, 1))
        bench.pressure((101, 1))
        #expect(bench.events.map(\.rule) == ["gaps", "gaps", "disk", "clock"])
        #expect(bench.events.last?.value == 10)
    }
}
