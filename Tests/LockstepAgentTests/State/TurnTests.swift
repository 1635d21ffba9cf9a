import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The time of the agent's next turn")
struct TurnTests {
    private var loop = FakeLoop(pending: [1...5])

    @Test("a turn follows after at most one second")
    func idle() { #expect(loop.state.nextTurn(at: 10_000_000) == 11_000_000) }

    @Test("a turn follows at the end of the window")
    mutating func window() {
        loop.add([1])
        #expect(loop.state.nextTurn(at: 10_400_000) == 11_000_000)
    }

    @Test("a turn follows after 50 ms while backlog may be published")
    mutating func backlog() {
        let disconnected = loop.state.nextTurn(at: loop.boot)
        loop.connect()
        let connected = loop.state.nextTurn(at: loop.boot)
        #expect(disconnected == 11_000_000 && connected == 10_050_000)
    }

    @Test("a turn schedules lost batches for retransmission")
    mutating func retransmission() {
        loop = FakeLoop()
        loop.connect()
        loop.add([1])
        loop.turn(after: 1_000_000)
        loop.acknowledgeMessages()
        let before = loop.state.delivery.unsentCount > 0
        loop.turn(after: 60_000_000)
        #expect(!before && loop.state.delivery.unsentCount > 0)
    }
}
