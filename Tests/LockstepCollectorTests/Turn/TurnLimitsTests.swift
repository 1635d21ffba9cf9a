import Testing

@testable import LockstepCollector

@Suite("Turn limits")
struct TurnLimitsTests {
    private let limits = TurnLimits(messages: 1000, partMessages: 100)

    @Test(
        "half of the remaining messages are a part, if they reach the minimum size",
        arguments: [
            (0, 499, false), (0, 500, true), (500, 249, false), (500, 250, true), (900, 99, false), (900, 100, true),
        ])
    func messages(handedOver: Int, pending: Int, isPart: Bool) {
        #expect(limits.isPart(pending, after: handedOver, elapsed: .zero, of: .seconds(1)) == isPart)
    }

    @Test(
        "the messages of half of the remaining time are a part, if they reach the minimum size",
        arguments: [(100, 499, false), (100, 500, true), (99, 1000, false)])
    func time(pending: Int, elapsed: Int, isPart: Bool) {
        #expect(limits.isPart(pending, after: 0, elapsed: .milliseconds(elapsed), of: .seconds(1)) == isPart)
    }
}
