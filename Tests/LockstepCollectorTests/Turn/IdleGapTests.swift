import Testing

@testable import LockstepCollector

@Suite("Idle gap")
struct IdleGapTests {
    private let limits = TurnLimits()
    private var gap: IdleGap

    init() {
        gap = IdleGap(limits)
        gap.beginTurn(hasLingered: false)
    }

    @Test("a turn waits after a burst, and again if more messages have arrived")
    mutating func burst() {
        #expect(gap.begin(after: limits.burst - 1) == nil)
        #expect(gap.begin(after: limits.burst) == limits.idleGap)
        gap.end(waited: .zero, isReadable: true)
        #expect(gap.begin(after: limits.burst) == nil)
        #expect(gap.begin(after: limits.burst + 1) == limits.idleGap)
    }

    @Test("a wait is not repeated at the number of messages at which it was futile", arguments: [0, 1, 2])
    mutating func futile(before: Int) {
        for turn in 1...2 {
            gap.beginTurn(hasLingered: false)
            for messages in limits.burst..<limits.burst + before {
                #expect(gap.begin(after: messages) != nil)
                gap.end(waited: .zero, isReadable: true)
            }
            #expect((gap.begin(after: limits.burst + before) != nil) == (turn == 1))
            if turn == 1 { gap.end(waited: .zero, isReadable: false) }
        }
    }

    @Test("the total waiting time of a turn is limited")
    mutating func steady() {
        gap.end(waited: limits.totalIdleGap - .milliseconds(1), isReadable: true)
        #expect(gap.begin(after: limits.burst) == .milliseconds(1))
        gap.end(waited: .milliseconds(2), isReadable: true)
        #expect(gap.begin(after: limits.burst + 1) == nil)
        gap.beginTurn(hasLingered: false)
        #expect(gap.begin(after: limits.burst + 2) == limits.idleGap)
    }

    @Test("a turn does not wait after a linger")
    mutating func lingered() {
        gap.beginTurn(hasLingered: true)
        #expect(gap.begin(after: limits.burst) == nil)
    }
}
