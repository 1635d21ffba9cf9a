import FoundationEssentials
import Testing

@testable import LockstepAgent

@Suite("The agent's loop and what it is asked", .temporaryFolder)
struct LoopRequestTests {
    @Test("answers twenty requests a turn, so that a flood of them does not hold up what it measures")
    func bounded() throws {
        let loop = try makeLoop()
        loop.requests = Array(repeating: Data(#"{"describe":true}"#.utf8), count: 50)
        for left in [30, 10, 0, 0] {
            loop.step()
            #expect(loop.requests.count == left)
        }
    }
}
