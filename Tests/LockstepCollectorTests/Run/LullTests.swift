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
        lull.end(waited: .zero, hasCome: true)
        #expect(lull.begin(after: limits.burst) == nil)
        #expect(lull.begin(after: limits.burst + 1) == limits.lull)
    }

    @Test("does not come again where it was in vain, be there others before", arguments: [0, 1, 2])
    mutating func fruitless(before: Int) {
        for turn in 1...2 {
            lull.beginTurn(hasGathered: false)
            for messages in limits.burst..<limits.burst + before {
                #expect(lull.begin(after: messages) != nil)
                lull.end(waited: .zero, hasCome: true)
            }
            #expect((lull.begin(after: limits.burst + before) != nil) == (turn == 1))
            if turn == 1 { lull.end(waited: .zero, hasCome: false) }
        }
    }

    @Test("is no longer than what is left of a turn's lulls")
    mutating func steady() {
        lull.end(waited: limits.lulls - .milliseconds(1), hasCome: true)
        #expect(lull.begin(after: limits.burst) == .milliseconds(1))
        lull.end(waited: .milliseconds(2), hasCome: true)
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
