import LockstepCollector
import LockstepModel
import Testing

@Suite("Events that do not change the state")
struct LifecycleUnchangedTests {
    @Test("the last will of an older session changes nothing", arguments: Scenario.allCases)
    func olderWill(_ scenario: Scenario) {
        var machine = scenario.machine
        _ = machine.handle(presence(.foreground, 100, session: 5), at: moment(100))
        let before = machine.snapshot
        #expect(machine.move(presence(.lost, 0, session: 4), 101) == nil)
        #expect(machine.snapshot == before)
    }

    @Test("a presence message of an older session has no effect", arguments: Phase.allCases)
    func olderSession(_ phase: Phase) {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0, session: 5))])
        #expect(machine.move(presence(phase, 50, session: 4), 50) == nil)
    }

    @Test(
        "a presence message older than the evidence time has no effect",
        arguments: [Phase.foreground, .inactive, .background, .terminated])
    func overtaken(_ phase: Phase) {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0)), (20, presence(.inactive, 20))])
        #expect(machine.move(presence(phase, 19.999_999), 21) == nil)
        var sampled = LifecycleMachine(after: [(0, presence(.foreground, 0)), (20, live(20))])
        #expect(sampled.move(presence(phase, 19.999_999), 21) == nil)
    }

    @Test("a live sample that is not newer than the evidence time has no effect", arguments: Scenario.allCases)
    func olderSample(_ scenario: Scenario) {
        var machine = LifecycleMachine(after: [(0, live(90))])
        machine = LifecycleMachine(machine.snapshot, at: moment(90))
        _ = machine.handle(presence(.background, 95), at: moment(95))
        #expect(machine.move(live(95), 96) == nil)
        #expect(machine.move(live(30), 96) == nil)
        var other = scenario.machine
        #expect(other.move(live(0), 101) == nil)
    }

    @Test("a heartbeat does not change the state")
    func heartbeat() {
        var machine = Scenario.active.machine
        for beat in 0..<10 {
            let now = 110 + 30 * Double(beat)
            #expect(machine.move(presence(.foreground, now), now) == nil)
            #expect(machine.move(.tick, now + 29) == nil)
        }
    }

    /// Events that change nothing: their time in s after the start, and the states in which that is so.
    private static let events: [(String, LifecycleMachine.Event, Double, [Scenario])] = [
        ("a heartbeat while inactive", presence(.inactive, 110), 110, [.inactive]),
        ("a heartbeat in background", presence(.background, 110), 110, [.declaredBackground]),
        ("a heartbeat while resumed", presence(.foreground, 100), 100, [.resumed]),
        ("the last will after a clean stop", presence(.lost, 0), 101, [.terminated]),
        ("the last will in background", presence(.lost, 0), 101, [.declaredBackground, .silent, .lost]),
        ("a live sample", live(101), 101, [.active, .inactive]),
        ("time", .tick, 1_000_000, [.declaredBackground, .lost, .silent, .terminated]),
        ("a presence that is delivered again", presence(.foreground, 0), 101, [.silent, .lost]),
    ]

    @Test("an event that says nothing new does not change the state", arguments: events)
    func nothingNew(name: String, event: LifecycleMachine.Event, seconds: Double, scenarios: [Scenario]) {
        for scenario in scenarios {
            var machine = scenario.machine
            let move = machine.move(event, seconds)
            #expect(move == nil && machine.state == scenario.state, "\(scenario)")
            if event == live(101) { #expect(machine.nextTick == moment(101 + 75).boot, "the silence timeout restarts") }
        }
    }

    @Test("live samples do not resume a device that declared itself in background")
    func backgroundRates() {
        var machine = Scenario.declaredBackground.machine
        for second in 101...150 { #expect(machine.move(live(Double(second)), Double(second)) == nil) }
        #expect(machine.move(presence(.lost, 0), 151) == nil)
        #expect(machine.move(live(152), 152) == Move(.resumed, "live-sample"))
    }
}
