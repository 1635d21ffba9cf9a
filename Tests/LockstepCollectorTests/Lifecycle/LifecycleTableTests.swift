import LockstepCollector
import LockstepModel
import Testing

/// Tests of the rows of the table "Life cycle" in docs/guarantees.md.
@Suite("Life-cycle table")
struct LifecycleTableTests {
    @Test("a new device becomes active with a presence message or a live sample")
    func beginning() {
        var present = LifecycleMachine(at: moment(0))
        #expect(present.state == nil)
        #expect(present.move(presence(.foreground, 5, reason: "start"), 5) == Move(.active, "start"))
        var sampled = LifecycleMachine(at: moment(0))
        #expect(sampled.move(live(5), 5) == Move(.active, "live-sample"))
    }

    @Test("an interrupted device is inactive, and active again afterwards")
    func interruption() {
        var machine = Scenario.active.machine
        #expect(machine.move(presence(.inactive, 101), 101) == Move(.inactive, "inactive"))
        #expect(machine.move(presence(.foreground, 102), 102) == Move(.active, "foreground"))
    }

    @Test("a device goes to background when its agent reports it", arguments: [Scenario.active, .inactive, .resumed])
    func background(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(presence(.background, 101), 101) == Move(.background, "background"))
    }

    @Test("a device goes to background when its connection is lost", arguments: [Scenario.active, .inactive, .resumed])
    func lost(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(presence(.lost, 0, reason: "whatever"), 101) == Move(.background, "connection-lost"))
    }

    @Test("a device goes to background after the silence timeout", arguments: [Scenario.active, .inactive])
    func silence(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.nextTick == moment(99 + 75).boot)
        #expect(machine.move(.tick, 99 + 74.999_999) == nil)
        #expect(machine.move(.tick, 99 + 75) == Move(.background, "silent"))
        #expect(machine.nextTick == nil)
    }

    @Test(
        "a device in background or terminated resumes with a foreground message",
        arguments: [Scenario.declaredBackground, .lost, .silent, .terminated])
    func resumedByPresence(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(presence(.foreground, 101, reason: "wake"), 101) == Move(.resumed, "wake"))
    }

    @Test("a device resumes with a live sample", arguments: [Scenario.lost, .silent, .terminated])
    func resumedBySample(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.move(live(101), 101) == Move(.resumed, "live-sample"))
    }

    @Test("a device resumes with a restart in the same epoch")
    func resumedByRestart() {
        var machine = Scenario.terminated.machine
        #expect(machine.move(presence(.foreground, 101, session: 2, reason: "start"), 101) == Move(.resumed, "start"))
    }

    @Test("a resumed device becomes active with the next live sample")
    func settledBySample() {
        var machine = Scenario.resumed.machine
        #expect(machine.move(live(99), 99.5) == nil)
        #expect(machine.move(live(99.000_001), 99.6) == Move(.active, "live-sample"))
    }

    @Test("a resumed device becomes active after the settle time")
    func settledByTime() {
        var machine = Scenario.resumed.machine
        #expect(machine.nextTick == moment(99 + 5).boot)
        #expect(machine.move(presence(.foreground, 103), 103) == nil)
        #expect(machine.move(.tick, 103.999_999) == nil)
        #expect(machine.move(.tick, 104) == Move(.active, "settled"))
    }

    @Test("a clean stop terminates a device in any state", arguments: Scenario.allCases.filter { $0 != .terminated })
    func terminated(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.state == scenario.state)
        #expect(machine.move(presence(.terminated, 101, reason: "stop"), 101) == Move(.terminated, "stop"))
        #expect(machine.nextTick == nil)
    }

    @Test("transitions are numbered, and each starts from the previous state")
    func numbers() {
        var machine = LifecycleMachine(at: moment(0))
        var transitions: [LifecycleTransition?] = []
        transitions.append(machine.handle(presence(.foreground, 1, reason: "start"), at: moment(1.5)))
        transitions.append(machine.handle(presence(.lost, 1), at: moment(30)))
        transitions.append(machine.handle(live(40), at: moment(41)))
        #expect(
            transitions == [
                LifecycleTransition(from: nil, to: .active, since: time(1), reason: "start", seq: 1),
                LifecycleTransition(from: .active, to: .background, since: time(30), reason: "connection-lost", seq: 2),
                LifecycleTransition(from: .background, to: .resumed, since: time(40), reason: "live-sample", seq: 3),
            ])
    }
}
