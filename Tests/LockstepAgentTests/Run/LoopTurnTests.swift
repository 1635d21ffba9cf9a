import LockstepSensors
import LockstepTestSupport
import Testing

@testable import LockstepAgent

@Suite("The time of the loop's next turn", .temporaryFolder)
struct LoopTurnTests {
    @Test("a turn follows at once while the inbox has items, even if their signal was consumed")
    func waiting() throws {
        let loop = try makeLoop()
        #expect(loop.nextTurn(at: 5) == 1_000_005)
        loop.inbox.report(.running, from: "a")
        #expect(loop.nextTurn(at: 5) == 5)
        loop.step()
        #expect(loop.nextTurn(at: 5) == 1_000_005)
    }
}
