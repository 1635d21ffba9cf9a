import LockstepCollector
import LockstepModel
import Testing

@Suite("Events that don't change the state")
struct LifecycleUnchangedTests {
    @Test("the last will of an older session", arguments: Way.allCases)
    func olderWill(_ way: Way) {
        var machine = way.machine
        _ = machine.handle(presence(.foreground, 100, session: 5), at: moment(100))
        let before = machine.snapshot
        #expect(machine.move(presence(.lost, 0, session: 4), 101) == nil)
        #expect(machine.snapshot == before)
    }

    @Test("a presence message of an older session", arguments: Phase.allCases)
    func olderSession(_ phase: Phase) {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0, session: 5))])
        #expect(machine.move(presence(phase, 50, session: 4), 50) == nil)
    }

    @Test(
        "a presence message that is older than the evidence for the state",
        arguments: [Phase.foreground, .inactive, .background, .terminated])
    func overtaken(_ phase: Phase) {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0)), (20, presence(.inactive, 20))])
        #expect(machine.move(presence(phase, 19.999_999), 21) == nil)
        var sampled = LifecycleMachine(after: [(0, presence(.foreground, 0)), (20, live(20))])
        #expect(sampled.move(presence(phase, 19.999_999), 21) == nil)
    }

    @Test("a live sample that is older than the evidence for the state", arguments: Way.allCases)
    func olderSample(_ way: Way) {
        var machine = LifecycleMachine(after: [(0, live(90))])
        machine = LifecycleMachine(machine.snapshot, at: moment(90))
        _ = machine.handle(presence(.background, 95), at: moment(95))
        #expect(machine.move(live(95), 96) == nil)
        #expect(machine.move(live(30), 96) == nil)
        var other = way.machine
        #expect(other.move(live(0), 101) == nil)
    }

    @Test("a heartbeat")
    func heartbeat() {
        var machine = Way.active.machine
        for beat in 0..<10 {
            let now = 110 + 30 * Double(beat)
            #expect(machine.move(presence(.foreground, now), now) == nil)
            #expect(machine.move(.tick, now + 29) == nil)
        }
        var interrupted = Way.inactive.machine
        #expect(interrupted.move(presence(.inactive, 110), 110) == nil)
        var background = Way.declaredBackground.machine
        #expect(background.move(presence(.background, 110), 110) == nil)
        var resumed = Way.resumed.machine
        #expect(resumed.move(presence(.foreground, 100), 100) == nil)
    }

    @Test("the last will after a clean stop")
    func willAfterStop() {
        var machine = Way.terminated.machine
        #expect(machine.move(presence(.lost, 0), 101) == nil)
        #expect(machine.state == .terminated)
    }

    @Test("the last will of a device in background", arguments: [Way.declaredBackground, .silent, .lost])
    func willInBackground(_ way: Way) {
        var machine = way.machine
        #expect(machine.move(presence(.lost, 0), 101) == nil)
        #expect(machine.state == .background)
    }

    @Test("live samples of a device that declared itself in background")
    func backgroundRates() {
        var machine = Way.declaredBackground.machine
        for second in 101...150 { #expect(machine.move(live(Double(second)), Double(second)) == nil) }
        #expect(machine.move(presence(.lost, 0), 151) == nil)
        #expect(machine.move(live(152), 152) == Move(.resumed, "live-sample"))
    }

    @Test("live samples of an active or interrupted device", arguments: [Way.active, .inactive])
    func samples(_ way: Way) {
        var machine = way.machine
        #expect(machine.move(live(101), 101) == nil)
        // They restart the silence timer.
        #expect(machine.nextTick == moment(101 + 75).boot)
    }

    @Test(
        "time, for a device in background or terminated",
        arguments: [Way.declaredBackground, .lost, .silent, .terminated])
    func time(_ way: Way) {
        var machine = way.machine
        #expect(machine.move(.tick, 1_000_000) == nil)
    }

    @Test("a presence message that is delivered again", arguments: [Way.silent, .lost])
    func repeated(_ way: Way) {
        var machine = way.machine
        let again = machine.move(presence(.foreground, 0), 101)
        #expect(again == nil)
    }
}
