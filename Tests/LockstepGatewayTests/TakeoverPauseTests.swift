import Testing

@testable import LockstepGateway

@Suite("Pauses of a gateway after a takeover")
struct TakeoverPauseTests {
    private static let second: Int64 = 1_000_000

    @Test("a pause is twice as long as the one before, up to ten minutes")
    func doubles() {
        var pause = TakeoverPause()
        #expect(pause.end < 0)
        var now: Int64 = 0
        for seconds: Int64 in [30, 60, 120, 240, 480, 600, 600] {
            pause.didConnect(at: now)
            now += 10 * Self.second
            #expect(pause.didLoseSession(at: now) == seconds * Self.second)
            #expect(pause.end == now + seconds * Self.second)
            now = pause.end
        }
    }

    @Test("after an hour with a connection, the first pause is short again")
    func calm() {
        var pause = TakeoverPause()
        pause.didConnect(at: 0)
        #expect(pause.didLoseSession(at: 1) == TakeoverPause.initial)
        pause.didConnect(at: 100 * Self.second)
        #expect(pause.didLoseSession(at: 3699 * Self.second) == 2 * TakeoverPause.initial)
        pause.didConnect(at: 4000 * Self.second)
        #expect(pause.didLoseSession(at: 7600 * Self.second) == TakeoverPause.initial)
    }
}
