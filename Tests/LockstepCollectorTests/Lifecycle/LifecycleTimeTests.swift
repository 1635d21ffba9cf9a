import LockstepCollector
import LockstepModel
import Testing

@Suite("Time in the life cycle")
struct LifecycleTimeTests {
    @Test(
        "a restart of the collector keeps state, transition number, session and evidence time",
        arguments: Scenario.allCases)
    func restart(_ scenario: Scenario) {
        let before = scenario.machine.snapshot
        var machine = LifecycleMachine(before, at: moment(1000))
        #expect(machine.state == scenario.state)
        #expect(machine.move(presence(.lost, 0, session: 0), 1001) == nil)
        #expect(machine.move(live(0), 1001) == nil)
        #expect(machine.move(presence(.inactive, -1), 1001) == nil)
        #expect(machine.snapshot == before)
        let next = machine.handle(presence(.terminated, 1002), at: moment(1002))
        #expect(next?.seq == (scenario == .terminated ? nil : (before.last?.seq ?? 0) + 1))
    }

    @Test(
        "silence and settle time count only while the collector is connected",
        arguments: [(Scenario.active, 5075.0, Move(.background, "silent")), (.resumed, 5005, Move(.active, "settled"))])
    func afterRestart(_ scenario: Scenario, seconds: Double, move: Move) {
        var machine = LifecycleMachine(scenario.machine.snapshot, at: moment(1000))
        machine.restartSilence(at: moment(5000))
        #expect(machine.move(.tick, seconds - 1) == nil)
        #expect(machine.move(.tick, seconds) == move)
    }

    @Test("silence timeout and settle time are configurable")
    func timing() {
        var machine = LifecycleMachine(timing: .init(silence: 10_000_000, settle: 1_000_000), at: moment(0))
        _ = machine.handle(presence(.foreground, 0), at: moment(0))
        #expect(machine.move(.tick, 10) == Move(.background, "silent"))
        #expect(machine.move(live(11), 11) == Move(.resumed, "live-sample"))
        #expect(machine.move(.tick, 12) == Move(.active, "settled"))
    }

    @Test("a resumed device that falls silent goes to background")
    func silentResumed() {
        var machine = LifecycleMachine(timing: .init(silence: 3_000_000, settle: 5_000_000), at: moment(0))
        _ = machine.handle(presence(.background, 0), at: moment(0))
        _ = machine.handle(presence(.foreground, 1), at: moment(1))
        #expect(machine.move(.tick, 4) == Move(.background, "silent"))
    }

    @Test("a sample with a future timestamp does not make later messages look outdated")
    func futureSample() {
        var machine = Scenario.active.machine
        #expect(machine.move(live(90_000), 101) == nil)
        #expect(machine.move(presence(.inactive, 102), 102) == Move(.inactive, "inactive"))
        #expect(machine.snapshot.last?.since == time(102))
    }

    @Test(
        "a presence message with a future timestamp does not make later messages look outdated",
        arguments: [1, nil] as [Int64?])
    func futurePresence(_ session: Int64?) {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 90_000, session: session))])
        #expect(machine.snapshot.last?.since == time(0))
        let next = machine.move(presence(.background, 5, session: session), 5)
        #expect(next == Move(.background, "background"))
    }

    /// The clocks of a collector whose wall clock is ahead.
    private func wrongMoment(_ seconds: Double, ahead: Double) -> Moment {
        var result = moment(seconds)
        result.wall = time(seconds + ahead)
        return result
    }

    @Test(
        "after the clock was ahead or behind and is corrected, each transition has its own time, also after a restart",
        arguments: [7200, 4_000_000_000, -86_400, -50_000_000.0], [false, true])
    func correctedClock(_ ahead: Double, _ restarts: Bool) {
        var machine = LifecycleMachine(at: wrongMoment(0, ahead: ahead))
        _ = machine.handle(presence(.foreground, 0), at: wrongMoment(0, ahead: ahead))
        let wrong = machine.handle(presence(.lost, 0), at: wrongMoment(10, ahead: ahead))
        #expect(wrong?.since == time(10 + ahead))
        if restarts { machine = LifecycleMachine(machine.snapshot, at: wrongMoment(20, ahead: 0)) }
        let next = machine.handle(live(21), at: wrongMoment(21.5, ahead: 0))
        #expect(next?.since == time(21) && next?.to == .resumed && next?.seq == 3)
        let last = machine.handle(presence(.background, 22), at: wrongMoment(22.5, ahead: 0))
        #expect(last?.since == time(22) && last?.seq == 4)
        // With the right clock, times do not go back, whatever the device's clock is.
        let behind = machine.handle(live(22.2), at: wrongMoment(23, ahead: 0))
        #expect(behind == nil)
        let ended = machine.handle(presence(.terminated, 22.1, session: 2), at: wrongMoment(24, ahead: 0))
        #expect(ended == nil || ended?.since ?? time(0) >= time(22))
    }

    @Test(
        "a device whose clock was ahead together with the collector's is heard after both are corrected",
        arguments: [7200, 4_000_000_000.0])
    func bothClocksAhead(_ ahead: Double) {
        var machine = LifecycleMachine(at: wrongMoment(0, ahead: ahead))
        _ = machine.handle(presence(.foreground, ahead), at: wrongMoment(0, ahead: ahead))
        _ = machine.handle(live(5 + ahead), at: wrongMoment(5, ahead: ahead))
        _ = machine.handle(.tick, at: wrongMoment(90, ahead: 0))
        #expect(machine.state == .background)
        let samples = machine.handle(live(100), at: wrongMoment(101, ahead: 0))
        #expect(samples?.to == .resumed && samples?.since == time(100))
        // An epoch whose predecessor the collector does not know.
        var unheard = LifecycleMachine(at: wrongMoment(0, ahead: ahead))
        _ = unheard.handle(presence(.foreground, ahead), at: wrongMoment(0, ahead: ahead))
        let other = Presence(
            epoch: Epoch(unchecked: "e3"), after: Epoch(unchecked: "e2"), session: 1, phase: .background,
            at: time(100))
        let presence = unheard.handle(.presence(other), at: wrongMoment(101, ahead: 0))
        #expect(presence?.to == .background && presence?.since == time(100))
    }

    @Test("a presence message without a time gets the collector's time")
    func withoutTime() {
        var machine = LifecycleMachine(at: moment(0))
        let first = machine.handle(presence(.foreground, nil, session: nil), at: moment(7))
        #expect(first?.since == time(7))
        #expect(machine.move(presence(.background, nil, session: nil), 8) == Move(.background, "background"))
        #expect(machine.move(presence(.lost, nil, session: nil), 9) == nil)
        #expect(machine.move(live(10), 10) == Move(.resumed, "live-sample"))
    }

    @Test("two presence messages with the same time both take effect")
    func sameTime() {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0))])
        let away = machine.move(presence(.background, 0), 1)
        let back = machine.move(presence(.foreground, 0), 1)
        #expect(away == Move(.background, "background"))
        #expect(back == Move(.resumed, "foreground"))
    }

    @Test("the time of a transition is never before that of the previous one")
    func since() {
        var machine = LifecycleMachine(after: [(50, presence(.foreground, 50))])
        // A new session whose clock is behind.
        let next = machine.handle(presence(.background, 20, session: 2), at: moment(60))
        #expect(next?.since == time(50))
        #expect(machine.move(presence(.foreground, 21, session: 2), 61) == Move(.resumed, "foreground"))
    }
}
