import LockstepCollector
import LockstepModel
import Testing

@Suite("Epochs of a device")
struct LifecycleEpochTests {
    private func message(_ epoch: String, _ phase: Phase, _ seconds: Double, session: Int64) -> LifecycleMachine.Event {
        .presence(
            Presence(epoch: Epoch(unchecked: epoch), session: session, phase: phase, at: time(seconds), reason: nil))
    }

    /// A device in background. Its session number comes from a clock that was ahead.
    private var ahead: LifecycleMachine {
        LifecycleMachine(after: [
            (0, message("a", .foreground, 0, session: 9)), (1, message("a", .background, 1, session: 9)),
        ])
    }

    @Test("session numbers are compared only within an epoch")
    func session() {
        var machine = ahead
        #expect(machine.move(message("b", .foreground, 2, session: 3), 2) == Move(.resumed, "foreground"))
        #expect(machine.snapshot.epoch == Epoch(unchecked: "b") && machine.snapshot.session == 3)
        #expect(machine.move(message("b", .foreground, 3, session: 2), 3) == nil)
        #expect(machine.move(message("b", .lost, 2, session: 3), 4) == Move(.background, "connection-lost"))
    }

    @Test("an older message of another epoch changes nothing", arguments: Phase.allCases)
    func older(_ phase: Phase) {
        var machine = ahead
        let before = machine.snapshot
        #expect(machine.move(message("b", phase, 1, session: 10), 2) == nil)
        #expect(machine.move(message("b", phase, 0.5, session: 10), 2) == nil)
        #expect(machine.snapshot == before)
    }

    @Test("an epoch that names the current one as its predecessor replaces it, even if its clock is behind")
    func follows() {
        var machine = ahead
        func message(_ phase: Phase, _ seconds: Double, after: String) -> LifecycleMachine.Event {
            .presence(
                Presence(
                    epoch: Epoch(unchecked: "b"), after: Epoch(unchecked: after), session: 3, phase: phase,
                    at: time(seconds)))
        }
        // The clock was set back by an hour.
        #expect(machine.move(message(.foreground, -3600, after: "other"), 2) == nil)
        #expect(machine.move(message(.foreground, -3600, after: "a"), 2) == Move(.resumed, "foreground"))
        #expect(machine.snapshot.epoch == Epoch(unchecked: "b") && machine.snapshot.evidenceTime == time(-3600))
        #expect(machine.move(live(-3599), 3) == Move(.active, "live-sample"))
        #expect(machine.move(message(.background, -3598, after: "a"), 4) == Move(.background, "background"))
        // A last will never starts an epoch.
        #expect(
            machine.move(
                .presence(
                    Presence(
                        epoch: Epoch(unchecked: "c"), after: Epoch(unchecked: "b"), session: 4, phase: .lost,
                        at: time(9))), 9) == nil)
    }

    @Test("the last will of another epoch changes nothing")
    func will() {
        var machine = ahead
        _ = machine.handle(message("b", .foreground, 2, session: 3), at: moment(2))
        let before = machine.snapshot
        #expect(machine.move(message("a", .lost, 3, session: 9), 3) == nil)
        #expect(machine.snapshot == before)
    }

    @Test("a presence message without an epoch is accepted")
    func none() {
        var machine = LifecycleMachine(after: [(0, presence(.foreground, 0))])
        let message = LifecycleMachine.Event.presence(Presence(epoch: nil, session: nil, phase: .inactive, at: time(1)))
        #expect(machine.move(message, 1) == Move(.inactive, "inactive"))
        #expect(machine.snapshot.epoch == epoch && machine.snapshot.session == 1)
    }
}
