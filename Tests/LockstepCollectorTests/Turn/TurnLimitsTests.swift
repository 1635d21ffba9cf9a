import Testing

@testable import LockstepCollector

@Suite("Turn limits")
struct TurnLimitsTests {
    private let limits = TurnLimits(messages: 1000, partMessages: 100)

    @Test(
        "a part is ready at half of the remaining messages, if it has the minimum size",
        arguments: [
            (0, 499, false), (0, 500, true), (500, 249, false), (500, 250, true), (900, 99, false), (900, 100, true),
        ])
    func messages(handedOver: Int, pending: Int, isReady: Bool) {
        #expect(limits.isPartReady(pending, after: handedOver, elapsed: .zero, of: .seconds(1)) == isReady)
    }

    @Test(
        "a part is ready after half of the remaining time, if it has the minimum size",
        arguments: [(100, 499, false), (100, 500, true), (99, 1000, false)])
    func time(pending: Int, elapsed: Int, isReady: Bool) {
        #expect(limits.isPartReady(pending, after: 0, elapsed: .milliseconds(elapsed), of: .seconds(1)) == isReady)
    }
}
