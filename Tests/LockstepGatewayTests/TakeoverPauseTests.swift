import Testing

@testable import LockstepGateway

@Suite("Pauses of a gateway after a takeover")
struct TakeoverPauseTests {
    private static let second: Int64 = 1_000_000

    @Test("a pause is twice as long as the one before, up to two minutes")
    func doubles() {
        var pause = TakeoverPause()
        #expect(pause.end == 0)
        var now: Int64 = 0
        for seconds: Int64 in [30, 60, 120, 120, 120] {
            now += 10 * Self.second
            #expect(pause.didLoseSession(at: now) == seconds * Self.second)
            #expect(pause.end == now + seconds * Self.second)
            now = pause.end
        }
    }

    @Test("after an hour without a takeover, the first pause is short again")
    func calm() {
        var pause = TakeoverPause()
        #expect(pause.didLoseSession(at: 1) == TakeoverPause.initial)
        #expect(pause.didLoseSession(at: pause.end + TakeoverPause.calm - 1) == 2 * TakeoverPause.initial)
        #expect(pause.didLoseSession(at: pause.end + TakeoverPause.calm) == TakeoverPause.initial)
    }
}
