import LockstepSensors
import Testing

@testable import LockstepAgent

@Suite("The agent's loop and when it turns", .temporaryFolder)
struct LoopTurnTests {
    @Test("turns at once while something waits in the inbox, also where its signal is gone")
    func waiting() throws {
        let loop = try makeLoop()
        #expect(loop.nextTurn(at: 5) == 1_000_005)
        loop.inbox.report(.running, from: "a")
        #expect(loop.nextTurn(at: 5) == 5)
        loop.step()
        #expect(loop.nextTurn(at: 5) == 1_000_005)
    }
}
