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
        var interrupted = Scenario.inactive.machine
        #expect(interrupted.move(presence(.inactive, 110), 110) == nil)
        var background = Scenario.declaredBackground.machine
        #expect(background.move(presence(.background, 110), 110) == nil)
        var resumed = Scenario.resumed.machine
        #expect(resumed.move(presence(.foreground, 100), 100) == nil)
    }

    @Test("the last will after a clean stop has no effect")
    func willAfterStop() {
        var machine = Scenario.terminated.machine
        #expect(machine.move(presence(.lost, 0), 101) == nil)
        #expect(machine.state == .terminated)
    }

    @Test(
        "the last will of a device in background does not change the state",
        arguments: [Scenario.declaredBackground, .silent, .lost])
    func willInBackground(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(presence(.lost, 0), 101) == nil)
        #expect(machine.state == .background)
    }

    @Test("live samples do not resume a device that declared itself in background")
    func backgroundRates() {
        var machine = Scenario.declaredBackground.machine
        for second in 101...150 { #expect(machine.move(live(Double(second)), Double(second)) == nil) }
        #expect(machine.move(presence(.lost, 0), 151) == nil)
        #expect(machine.move(live(152), 152) == Move(.resumed, "live-sample"))
    }

    @Test(
        "live samples do not change an active or inactive device, but restart its silence timeout",
        arguments: [Scenario.active, .inactive])
    func samples(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(live(101), 101) == nil)
        #expect(machine.nextTick == moment(101 + 75).boot)
    }

    @Test(
        "time does not change a device in background or a terminated device",
        arguments: [Scenario.declaredBackground, .lost, .silent, .terminated])
    func time(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(.tick, 1_000_000) == nil)
    }

    @Test("a presence message that is delivered again has no effect", arguments: [Scenario.silent, .lost])
    func repeated(_ scenario: Scenario) {
        var machine = scenario.machine
        let again = machine.move(presence(.foreground, 0), 101)
        #expect(again == nil)
    }
}
