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

    /// A row of the table: what happens to a device in each of these states, 101 s after the start.
    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let scenarios: [Scenario]
        let event: LifecycleMachine.Event
        let move: Move

        init(_ name: String, _ scenarios: [Scenario], _ event: LifecycleMachine.Event, _ move: Move) {
            (testDescription, self.scenarios, self.event, self.move) = (name, scenarios, event, move)
        }
    }

    private static let rows = [
        Row("an interruption", [.active], presence(.inactive, 101), Move(.inactive, "inactive")),
        Row("the end of an interruption", [.inactive], presence(.foreground, 101), Move(.active, "foreground")),
        Row(
            "the agent reports background", [.active, .inactive, .resumed], presence(.background, 101),
            Move(.background, "background")),
        Row(
            "the connection is lost", [.active, .inactive, .resumed], presence(.lost, 0, reason: "whatever"),
            Move(.background, "connection-lost")),
        Row(
            "a foreground message", [.declaredBackground, .lost, .silent, .terminated],
            presence(.foreground, 101, reason: "wake"), Move(.resumed, "wake")),
        Row("a live sample", [.lost, .silent, .terminated], live(101), Move(.resumed, "live-sample")),
        Row(
            "a restart in the same epoch", [.terminated], presence(.foreground, 101, session: 2, reason: "start"),
            Move(.resumed, "start")),
        Row(
            "a clean stop", Scenario.allCases.filter { $0 != .terminated },
            presence(.terminated, 101, reason: "stop"), Move(.terminated, "stop")),
    ]

    @Test("an event leads to the state of its row", arguments: rows)
    func row(_ row: Row) {
        for scenario in row.scenarios {
            var machine = scenario.machine
            #expect(machine.state == scenario.state)
            let move = machine.move(row.event, 101)
            #expect(move == row.move, "\(scenario)")
            if row.move.to == .terminated { #expect(machine.nextTick == nil) }
        }
    }

    @Test("a device goes to background after the silence timeout", arguments: [Scenario.active, .inactive])
    func silence(_ scenario: Scenario) {
        var machine = scenario.machine
        #expect(machine.nextTick == moment(99 + 75).boot)
        #expect(machine.move(.tick, 99 + 74.999_999) == nil)
        #expect(machine.move(.tick, 99 + 75) == Move(.background, "silent"))
        #expect(machine.nextTick == nil)
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
