import LockstepCollector
import LockstepModel
import Testing

@Suite("A device's epochs")
struct LifecycleEpochTests {
    private func word(_ epoch: String, _ phase: Phase, _ seconds: Double, session: Int64) -> LifecycleMachine.Event {
        .presence(
            Presence(epoch: Epoch(unchecked: epoch), session: session, phase: phase, at: time(seconds), reason: nil))
    }

    /// In the background, said by a session whose number is of a clock that ran a month ahead.
    private var ahead: LifecycleMachine {
        LifecycleMachine(after: [
            (0, word("a", .foreground, 0, session: 9)), (1, word("a", .background, 1, session: 9)),
        ])
    }

    @Test("are told apart: the session of one says nothing of the other's")
    func takesOver() {
        var machine = ahead
        #expect(machine.move(word("b", .foreground, 2, session: 3), 2) == Move(.resumed, "foreground"))
        #expect(machine.snapshot.epoch == Epoch(unchecked: "b") && machine.snapshot.session == 3)
        #expect(machine.move(word("b", .foreground, 3, session: 2), 3) == nil)
        #expect(machine.move(word("b", .lost, 2, session: 3), 4) == Move(.background, "connection-lost"))
    }

    @Test("go on with the later one: an older word of another changes nothing", arguments: Phase.allCases)
    func older(_ phase: Phase) {
        var machine = ahead
        let before = machine.snapshot
        #expect(machine.move(word("b", phase, 1, session: 10), 2) == nil)
        #expect(machine.move(word("b", phase, 0.5, session: 10), 2) == nil)
        #expect(machine.snapshot == before)
    }

    @Test("go on with one that says that it follows, whatever its clock says")
    func follows() {
        var machine = ahead
        func word(_ phase: Phase, _ seconds: Double, after: String) -> LifecycleMachine.Event {
            .presence(
                Presence(
                    epoch: Epoch(unchecked: "b"), after: Epoch(unchecked: after), session: 3, phase: phase,
                    at: time(seconds)))
        }
        // The clock was set back by an hour.
        #expect(machine.move(word(.foreground, -3600, after: "other"), 2) == nil)
        #expect(machine.move(word(.foreground, -3600, after: "a"), 2) == Move(.resumed, "foreground"))
        #expect(machine.snapshot.epoch == Epoch(unchecked: "b") && machine.snapshot.evidenceTime == time(-3600))
        #expect(machine.move(live(-3599), 3) == Move(.active, "live-sample"))
        #expect(machine.move(word(.background, -3598, after: "a"), 4) == Move(.background, "background"))
        // A will says nothing of the epoch before.
        #expect(
            machine.move(
                .presence(
                    Presence(
                        epoch: Epoch(unchecked: "c"), after: Epoch(unchecked: "b"), session: 4, phase: .lost,
                        at: time(9))), 9) == nil)
    }

    @Test("don't end by the will of another")
    func will() {
        var machine = ahead
        _ = machine.handle(word("b", .foreground, 2, session: 3), at: moment(2))
        let before = machine.snapshot
        #expect(machine.move(word("a", .lost, 3, session: 9), 3) == nil)
        #expect(machine.snapshot == before)
    }

    @Test("are of no concern for a device that names none")
    func none() {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0))])
        let word = LifecycleMachine.Event.presence(Presence(epoch: nil, session: nil, phase: .inactive, at: time(1)))
        #expect(machine.move(word, 1) == Move(.inactive, "inactive"))
        #expect(machine.snapshot.epoch == epoch && machine.snapshot.session == 1)
    }
}
