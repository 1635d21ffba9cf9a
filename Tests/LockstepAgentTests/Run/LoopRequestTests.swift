import FoundationEssentials
import LockstepTestSupport
import Testing

@testable import LockstepAgent

@Suite("The agent's loop and requests", .temporaryFolder)
struct LoopRequestTests {
    @Test("a turn answers at most twenty requests")
    func bounded() throws {
        let loop = try makeLoop()
        for _ in 0..<50 { loop.send(.request(Data(#"{"describe":true}"#.utf8), isRetained: false)) }
        for left in [30, 10, 0, 0] {
            loop.step()
            #expect(loop.state.requests.count == left)
        }
    }
}
