import Testing

@testable import LockstepCollector

@Suite("Turn machine: reading")
struct TurnMachineReadingTests {
    /// Limits that are reached after a few reads.
    private static let limits = TurnLimits(
        messages: 1000, samples: 5000, partMessages: 300, partSamples: 2000, duration: .milliseconds(250),
        gathering: .milliseconds(100), pause: .milliseconds(20), shortPause: .milliseconds(1), burst: 100)

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
        driver.read(messages: 99, expecting: .pause(until: driver.now + .milliseconds(1)))
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
        driver.readAll(messages: 1)
        let read = driver.now
        driver.send(.reviewed(.urgent), expecting: .commit)
        driver.advance(.seconds(3))
        driver.send(.committed(next: nil), expecting: .settle)
        driver.endTurn(after: .settled)
        driver.advance(.milliseconds(50))
        _ = driver.machine.handle(.wokeUp(hasUnsentData: false), at: driver.now)
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

    @Test("the parts of a turn do not depend on the previous turn")
    mutating func nextParts() {
        begin()
        for _ in 1...2 {
            for _ in 0..<4 { driver.read(messages: 100, expecting: .read) }
            driver.read(messages: 100, expecting: .handOver)
            driver.send(.handedOver(samples: 500), expecting: .read)
            driver.readAll(messages: 0)
            driver.endTurnWithCommit(.none)
            driver.advance(.seconds(1))
            driver.wakeUp(expecting: .read)
        }
    }

    @Test("enough samples are handed over at once, even while the store is busy")
    mutating func fullPart() {
        begin()
        driver.readAll(messages: 1, samples: 1999, isStoreIdle: false)
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
        driver.readAll(messages: 0)
        driver.endTurnWithCommit(.none)
        driver.turn(.none, commits: false)
    }

    @Test("a hand-over of an empty group requires no commit")
    mutating func emptyHandOver() {
        begin()
        for _ in 0..<4 { driver.read(messages: 100, expecting: .read) }
        driver.read(messages: 100, expecting: .handOver)
        driver.send(.handedOver(samples: nil), expecting: .read)
        driver.readAll(messages: 0)
        driver.send(.reviewed(.none), expecting: .publish(states: 0..<0, acknowledgements: true))
    }

    @Test("a turn pauses while messages arrive, up to a limit")
    mutating func gathering() {
        begin()
        for _ in 0..<4 {
            driver.read(messages: 1, expecting: .pause(until: driver.now + .milliseconds(20)))
            driver.advance(.milliseconds(20))
            driver.send(.paused(isStoreIdle: true), expecting: .read)
        }
        driver.advance(.milliseconds(5))
        driver.read(messages: 1, expecting: .pause(until: driver.now + .milliseconds(15)))
        driver.advance(.milliseconds(15))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 1, expecting: .review(advancingTime: true))
    }

    @Test("a turn ends when nothing has arrived in a pause, after a short one in another")
    mutating func futilePause() {
        begin()
        driver.read(messages: 1, expecting: .pause(until: driver.now + .milliseconds(20)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 100, expecting: .read)
        driver.read(messages: 50, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 0, expecting: .pause(until: driver.now + .milliseconds(20)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
    }

    @Test("a turn with enough samples for a commit pauses only at a high rate")
    mutating func worthwhile() {
        begin()
        driver.read(messages: 1, samples: 999, expecting: .pause(until: driver.now + .milliseconds(20)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 1, samples: 1000, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 1, samples: 1000, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 1, samples: 1500, expecting: .review(advancingTime: true))
    }

    @Test("a turn does not pause again at the number of messages at which a broker waits for their acknowledgement")
    mutating func fullWindow() {
        begin()
        for window in [20, 30] {
            driver.readAll(messages: window)
            driver.endTurn()
            driver.wakeUp(expecting: .read)
            driver.read(messages: window, expecting: .review(advancingTime: true))
            driver.endTurn()
            driver.wakeUp(expecting: .read)
        }
        // A window that arrives in parts: the next one is expected at once.
        driver.read(messages: 5, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 25, expecting: .review(advancingTime: true))
        driver.endTurn()
        // So few messages are rather those of a few devices.
        for _ in 1...2 {
            driver.wakeUp(expecting: .read)
            driver.readAll(messages: 1)
            driver.endTurn()
        }
        driver.wakeUp(expecting: .read)
        driver.read(messages: 1, expecting: .pause(until: driver.now + .milliseconds(20)))
    }

    @Test("a part is handed over during a pause when the store has become idle")
    mutating func partInPause() {
        begin()
        for _ in 0..<5 { driver.read(messages: 100, isStoreIdle: false, expecting: .read) }
        driver.read(messages: 50, isStoreIdle: false, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .handOver)
    }

    @Test("a turn does not pause while the broker may be waiting for the collector, or has not taken all data")
    mutating func statesInFlight() {
        begin()
        for id in 1...11 { driver.link(.queued(id: Int32(id))) }
        driver.read(messages: 99, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.wakeUp(expecting: .read)
        driver.link(.acknowledged(id: 3))
        driver.read(messages: 99, expecting: .pause(until: driver.now + .milliseconds(20)))
        driver.readAll(messages: 0)
        driver.endTurn()
        driver.send(.wokeUp(hasUnsentData: true), expecting: .read)
        driver.read(messages: 1, expecting: .review(advancingTime: true))
    }
}
