import Testing

@testable import LockstepCollector

@Suite("The limits of a turn")
struct TurnLimitsTests {
    private let limits = TurnLimits(messages: 1000, partMessages: 100)

    @Test(
        "make a part of half of the messages that are left, and of no fewer than are worth it",
        arguments: [
            (0, 499, false), (0, 500, true), (500, 249, false), (500, 250, true), (900, 99, false), (900, 100, true),
        ])
    func messages(added: Int, waiting: Int, isPart: Bool) {
        #expect(limits.isPart(waiting, after: added, elapsed: .zero, of: .seconds(1)) == isPart)
    }

    @Test(
        "make a part of what came in half of the time that was left",
        arguments: [(100, 499, false), (100, 500, true), (99, 1000, false)])
    func time(waiting: Int, elapsed: Int, isPart: Bool) {
        #expect(limits.isPart(waiting, after: 0, elapsed: .milliseconds(elapsed), of: .seconds(1)) == isPart)
    }
}
