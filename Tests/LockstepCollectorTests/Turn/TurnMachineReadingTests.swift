import Testing

@testable import LockstepCollector

@Suite("Turn machine: reading")
struct TurnMachineReadingTests {
    /// Limits that are reached after a few reads.
    private static let limits = TurnLimits(
        messages: 1000, samples: 5000, partMessages: 300, partSamples: 2000, burst: 100, idleGap: .milliseconds(10),
        totalIdleGap: .milliseconds(40), duration: .milliseconds(250))

    private var driver = TurnDriver(limits)

    private mutating func begin() {
        driver.connect()
        driver.wakeUp(expecting: .read)
    }

    @Test("a full read is followed by another read")
    mutating func fullRead() {
        begin()
        driver.read(messages: 100, expecting: .read)
        driver.read(messages: 99, linkEvents: 1, expecting: .read)
        driver.read(messages: 99, expecting: .waitToRead(.milliseconds(10)))
    }

    @Test("the turn ends at its maximum number of messages")
    mutating func maxMessages() {
        begin()
        for _ in 0..<9 { driver.read(messages: 100, isStoreIdle: false, expecting: .read) }
        driver.read(messages: 100, isStoreIdle: false, expecting: .review(advancingTime: true))
    }

    @Test("the turn ends at its maximum number of samples, counting those handed over")
    mutating func maxSamples() {
        begin()
        for _ in 0..<2 {
            driver.read(messages: 1, samples: 2000, expecting: .handOver)
            driver.send(.handedOver(samples: 2000), expecting: .read)
        }
        driver.read(messages: 100, samples: 999, expecting: .read)
        driver.read(messages: 100, samples: 1000, expecting: .review(advancingTime: true))
    }

    @Test("the turn ends at its maximum duration")
    mutating func maxDuration() {
        begin()
        driver.advance(.milliseconds(249))
        driver.read(messages: 100, isStoreIdle: false, expecting: .read)
        driver.advance(.milliseconds(1))
        driver.read(messages: 100, isStoreIdle: false, expecting: .review(advancingTime: true))
    }

    @Test("what a turn reads has arrived after the last read of the previous turn, whatever its commit took")
    mutating func lastReadEnd() {
        begin()
        driver.advance(.milliseconds(200))
        driver.read(messages: 1, expecting: .review(advancingTime: true))
        let read = driver.now
        driver.send(.reviewed(.urgent), expecting: .commit)
        driver.advance(.seconds(3))
        driver.send(.committed(next: nil), expecting: .settle)
        driver.endTurn(after: .settled)
        driver.advance(.milliseconds(50))
        _ = driver.machine.handle(.wokeUp(isReadable: false, hasUnsentData: false), at: driver.now)
        #expect(driver.machine.lastReadEnd == read)
    }

    @Test("a new turn starts with full limits")
    mutating func nextTurn() {
        begin()
        driver.read(messages: 1, samples: 2000, expecting: .handOver)
        driver.send(.handedOver(samples: 4999), expecting: .read)
        for _ in 0..<8 { driver.read(messages: 100, isStoreIdle: false, expecting: .read) }
        driver.advance(.milliseconds(250))
        driver.read(messages: 100, expecting: .review(advancingTime: true))
        driver.endTurnWithCommit()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 100, samples: 1999, isStoreIdle: false, expecting: .read)
    }

    @Test("the parts and the idle gap of a turn do not depend on the previous turn")
    mutating func nextParts() {
        begin()
        for _ in 0..<4 { driver.read(messages: 100, expecting: .read) }
        driver.read(messages: 100, expecting: .handOver)
        driver.send(.handedOver(samples: 500), expecting: .read)
        driver.read(messages: 0, expecting: .waitToRead(.milliseconds(10)))
        driver.send(.waited(isReadable: false, isStoreIdle: true), expecting: .review(advancingTime: true))
        driver.endTurnWithCommit(.none)
        driver.advance(.seconds(1))
        driver.wakeUp(expecting: .read)
        for _ in 0..<4 { driver.read(messages: 100, unacknowledged: 10, expecting: .read) }
        driver.read(messages: 100, unacknowledged: 10, expecting: .handOver)
        driver.send(.handedOver(samples: 500), expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
    }

    @Test("enough samples are handed over at once, even while the store is busy")
    mutating func fullPart() {
        begin()
        driver.read(messages: 1, samples: 1999, isStoreIdle: false, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.advance(.seconds(1))
        driver.wakeUp(expecting: .read)
        driver.read(messages: 1, samples: 2000, isStoreIdle: false, expecting: .handOver)
    }

    @Test("enough messages are handed over when the store is idle")
    mutating func part() {
        begin()
        for _ in 0..<4 { driver.read(messages: 100, expecting: .read) }
        driver.read(messages: 100, isStoreIdle: false, expecting: .read)
        driver.read(messages: 100, isStoreIdle: true, expecting: .handOver)
        driver.send(.handedOver(samples: 600), expecting: .read)
        // Half of the remaining 400 messages is below the minimum of a part.
        driver.read(messages: 100, expecting: .read)
        driver.read(messages: 100, expecting: .read)
        driver.read(messages: 100, expecting: .handOver)
    }

    @Test("after half of the remaining time, fewer messages are enough for a part")
    mutating func partByTime() {
        begin()
        for _ in 0..<3 { driver.read(messages: 100, expecting: .read) }
        driver.advance(.milliseconds(124))
        driver.read(messages: 0, linkEvents: 100, expecting: .read)
        driver.advance(.milliseconds(1))
        driver.read(messages: 0, linkEvents: 100, expecting: .handOver)
        driver.send(.handedOver(samples: 300), expecting: .read)
        // The time of the next part starts at the last hand-over.
        driver.advance(.milliseconds(62))
        for _ in 0..<3 { driver.read(messages: 100, expecting: .read) }
        driver.advance(.milliseconds(1))
        driver.read(messages: 0, linkEvents: 100, expecting: .handOver)
    }

    @Test("a turn that has handed over a part commits, even if the last group is empty")
    mutating func commitAfterHandOver() {
        begin()
        driver.read(messages: 1, samples: 2000, expecting: .handOver)
        driver.send(.handedOver(samples: 2000), expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
        driver.endTurnWithCommit(.none)
        driver.turn(.none, commits: false)
    }

    @Test("a hand-over of an empty group requires no commit")
    mutating func emptyHandOver() {
        begin()
        for _ in 0..<4 { driver.read(messages: 100, expecting: .read) }
        driver.read(messages: 100, expecting: .handOver)
        driver.send(.handedOver(samples: nil), expecting: .read)
        driver.read(messages: 0, expecting: .waitToRead(.milliseconds(10)))
        driver.send(.waited(isReadable: false, isStoreIdle: true), expecting: .review(advancingTime: true))
        driver.send(.reviewed(.none), expecting: .publish(states: 0..<0, acknowledgements: true))
    }

    @Test("a turn waits in idle gaps after a burst, and ends when nothing arrives")
    mutating func idleGap() {
        begin()
        driver.read(messages: 99, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.advance(.seconds(1))
        driver.wakeUp(expecting: .read)
        driver.read(messages: 100, expecting: .read)
        driver.read(messages: 0, expecting: .waitToRead(.milliseconds(10)))
        driver.advance(.milliseconds(10))
        driver.send(.waited(isReadable: true, isStoreIdle: true), expecting: .read)
        driver.read(messages: 5, expecting: .waitToRead(.milliseconds(10)))
        driver.advance(.milliseconds(29))
        driver.send(.waited(isReadable: true, isStoreIdle: true), expecting: .read)
        // Of the total of 40 ms, 1 ms remains.
        driver.read(messages: 5, expecting: .waitToRead(.milliseconds(1)))
        driver.send(.waited(isReadable: false, isStoreIdle: true), expecting: .review(advancingTime: true))
    }

    @Test("messages that need no acknowledgement do not count for the idle gap")
    mutating func qos0() {
        begin()
        driver.read(messages: 90, unacknowledged: 0, expecting: .review(advancingTime: true))
    }

    @Test("after an idle gap, a part is handed over when the store has become idle")
    mutating func partAfterIdleGap() {
        begin()
        for _ in 0..<5 { driver.read(messages: 100, isStoreIdle: false, expecting: .read) }
        driver.read(messages: 50, isStoreIdle: false, expecting: .waitToRead(.milliseconds(10)))
        driver.send(.waited(isReadable: true, isStoreIdle: true), expecting: .handOver)
    }

    @Test("a turn does not wait while the broker may be waiting for the collector")
    mutating func statesInFlight() {
        begin()
        for id in 1...11 { driver.link(.queued(id: Int32(id))) }
        driver.read(messages: 99, unacknowledged: 120, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.wakeUp(expecting: .read)
        driver.link(.acknowledged(id: 3))
        driver.read(messages: 99, unacknowledged: 120, expecting: .waitToRead(.milliseconds(10)))
    }
}
