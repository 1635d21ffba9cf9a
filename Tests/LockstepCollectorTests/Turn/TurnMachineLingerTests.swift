import Testing

@testable import LockstepCollector

@Suite("Turn machine: linger")
struct TurnMachineLingerTests {
    private var driver = TurnDriver()

    /// Runs a turn with 50 messages.
    private mutating func turnWithMessages() {
        driver.wakeUp(expecting: .read)
        driver.read(messages: 50, expecting: .review(advancingTime: true))
        driver.endTurn()
    }

    @Test("the collector lingers after a turn with messages, and then reads without idle gaps")
    mutating func linger() {
        driver.connect()
        turnWithMessages()
        driver.wakeUp(expecting: .linger(until: driver.turnStart + CommitLinger.minInterval))
        driver.advance(CommitLinger.minInterval)
        driver.send(.lingered, expecting: .read)
        driver.read(messages: 100, expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
    }

    @Test("the linger depends on the samples of a turn, including those handed over")
    mutating func samples() {
        driver = TurnDriver(TurnLimits(partSamples: 1000))
        driver.connect()
        // Makes the window known.
        driver.advance(.milliseconds(100))
        driver.machine.linger.record(1000, samples: 0, at: driver.now)
        // 600 messages with 20,000 samples a second.
        for _ in 0..<2 {
            driver.advance(.milliseconds(100))
            driver.send(.wokeUp(isReadable: false, hasUnsentData: false), expecting: .read)
            driver.read(messages: 60, samples: 1000, expecting: .handOver)
            driver.send(.handedOver(samples: 1000), expecting: .read)
            driver.read(messages: 0, samples: 999, expecting: .review(advancingTime: true))
            driver.endTurnWithCommit()
        }
        driver.wakeUp(expecting: .linger(until: driver.now + .seconds(1000.0 / 19_990)))
    }

    @Test("a linger shortens the reading after it, so that the acknowledgements are not delayed further")
    mutating func duration() {
        driver.connect()
        turnWithMessages()
        driver.wakeUp(expecting: .linger(until: driver.turnStart + CommitLinger.minInterval))
        driver.advance(.milliseconds(200))
        driver.send(.lingered, expecting: .read)
        driver.advance(.milliseconds(49))
        driver.read(messages: 100, expecting: .read)
        driver.advance(.milliseconds(1))
        driver.read(messages: 100, expecting: .review(advancingTime: true))
        driver.endTurn()
        // Without a linger, a turn has the full time.
        driver.advance(.seconds(1))
        driver.wakeUp(expecting: .read)
        driver.advance(.milliseconds(249))
        driver.read(messages: 100, expecting: .read)
    }

    @Test("the collector does not linger if nothing is readable, or while the socket accepts no more data")
    mutating func socket() {
        for (isReadable, hasUnsentData) in [(false, false), (true, true)] {
            driver = TurnDriver()
            driver.connect()
            turnWithMessages()
            driver.send(.wokeUp(isReadable: isReadable, hasUnsentData: hasUnsentData), expecting: .read)
        }
    }

    @Test("the collector does not linger after a turn without messages")
    mutating func withoutMessages() {
        driver.connect()
        turnWithMessages()
        driver.advance(.seconds(1))
        driver.turn(.none, commits: false)
        driver.wakeUp(expecting: .read)
    }

    @Test("the collector does not linger without a connection, or while states are in flight")
    mutating func link() {
        let states = (1...11).map { TurnMachine.LinkEvent.queued(id: Int32($0)) }
        for events in [[.disconnected(isTakenOver: false)], states] {
            driver = TurnDriver()
            driver.connect()
            turnWithMessages()
            for event in events { driver.link(event) }
            driver.wakeUp(expecting: .read)
        }
    }

    @Test("a new connection discards the window size learned before")
    mutating func newConnection() {
        driver.connect()
        turnWithMessages()
        driver.link(.disconnected(isTakenOver: false))
        driver.connect()
        // Too many for a linger in a window of 20, but not in one of 50.
        driver.machine.messages = 1
        for _ in 1...6 { driver.machine.linger.record(20, samples: 20, at: driver.now) }
        driver.wakeUp(expecting: .read)
    }

    @Test("messages of a turn that was rolled back do not count for the window")
    mutating func rolledBack() {
        driver.connect()
        driver.failCommit(messages: 50)
        // Too many for a linger in a window of 20, but not in one of 50.
        for _ in 1...6 { driver.machine.linger.record(20, samples: 20, at: driver.now) }
        driver.wakeUp(expecting: .read)
    }

    @Test("retained messages do not count for the window")
    mutating func retained() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 50, retained: 50, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.wakeUp(expecting: .read)
    }

    @Test("retained messages of an earlier turn do not affect the window")
    mutating func earlierRetained() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 50, retained: 50, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.advance(.seconds(1))
        turnWithMessages()
        driver.wakeUp(expecting: .linger(until: driver.turnStart + CommitLinger.minInterval))
    }
}
