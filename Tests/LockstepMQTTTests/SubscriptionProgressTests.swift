import Testing

@testable import LockstepMQTT

@Suite("Subscriptions of a session")
struct SubscriptionProgressTests {
    private var progress = SubscriptionProgress(awaitsRetained: false)

    @Test("a session is ready when the last of its subscriptions is granted, in any order")
    mutating func ready() {
        progress.requested("a", id: 1)
        progress.requested("b", id: 2)
        let steps = [2, 1, 2].map { progress.answered($0, isGranted: true) }
        #expect(steps == [.wait, .ready, .wait])
    }

    @Test("a session that awaits retained messages is ready when it has subscribed once more")
    mutating func retained() {
        progress = SubscriptionProgress(awaitsRetained: true)
        progress.requested("a", id: 1)
        let first = progress.answered(1, isGranted: true)
        progress.requested("a", id: 2)
        let second = progress.answered(2, isGranted: true)
        #expect(first == .repeat("a") && second == .ready)
    }

    @Test("a session with a refused subscription names it and is not ready, until it begins anew")
    mutating func denied() {
        progress.requested("a", id: 1)
        progress.requested("b", id: 2)
        let steps = [progress.answered(1, isGranted: false), progress.answered(2, isGranted: true)]
        #expect(steps == [.denied("a"), .wait])
        progress.begin()
        progress.requested("a", id: 3)
        let again = progress.answered(3, isGranted: true)
        #expect(again == .ready)
    }

    @Test("answers to subscriptions of an earlier connection are ignored")
    mutating func late() {
        progress.requested("a", id: 1)
        progress.begin()
        progress.requested("a", id: 2)
        let steps = [progress.answered(1, isGranted: false), progress.answered(2, isGranted: true)]
        #expect(steps == [.wait, .ready])
    }
}
