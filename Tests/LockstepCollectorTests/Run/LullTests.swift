import Testing

@testable import LockstepCollector

@Suite("The lull of a turn")
struct LullTests {
    private let limits = TurnLimits()
    private var lull: Lull

    init() {
        lull = Lull(limits)
        lull.beginTurn(hasGathered: false)
    }

    @Test("comes after a burst, and again if more came")
    mutating func burst() {
        #expect(lull.begin(after: limits.burst - 1) == nil)
        #expect(lull.begin(after: limits.burst) == limits.lull)
        #expect(lull.begin(after: limits.burst + 1) == limits.lull)
    }

    @Test("does not come again where it was in vain, in this turn and the next")
    mutating func fruitless() {
        #expect(lull.begin(after: limits.burst) != nil)
        #expect(lull.begin(after: limits.burst) == nil)
        lull.beginTurn(hasGathered: false)
        #expect(lull.begin(after: limits.burst) == nil)
        #expect(lull.begin(after: limits.burst + 1) != nil)
    }

    @Test("is no longer than what is left of a turn's lulls")
    mutating func steady() {
        lull.note(waited: limits.lulls - .milliseconds(1))
        #expect(lull.begin(after: limits.burst) == .milliseconds(1))
        lull.note(waited: .milliseconds(2))
        #expect(lull.begin(after: limits.burst + 1) == nil)
        lull.beginTurn(hasGathered: false)
        #expect(lull.begin(after: limits.burst + 2) == limits.lull)
    }

    @Test("does not come where messages have gathered")
    mutating func gathered() {
        lull.beginTurn(hasGathered: true)
        #expect(lull.begin(after: limits.burst) == nil)
    }
}
