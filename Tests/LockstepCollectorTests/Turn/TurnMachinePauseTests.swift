import Testing

@testable import LockstepCollector

@Suite("Turn machine: a store that limits its commits")
struct TurnMachinePauseTests {
    private static let limits = TurnLimits(
        messages: 1000, samples: 5000, samplesOfLimitedCommit: 7000, partMessages: 300, partSamples: 2000,
        duration: .milliseconds(250),
        pause: .milliseconds(20), shortPause: .milliseconds(1), worthwhileSamples: 1000)

    private var driver = TurnDriver(limits)

    /// Begins a turn 100 ms after a commit of a store that accepts the next one 200 ms after it.
    private mutating func begin() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.readAll(messages: 1, samples: 1)
        driver.endTurnWithCommit(next: driver.now + .milliseconds(200))
        driver.advance(.milliseconds(100))
        driver.wakeUp(expecting: .read)
    }

    @Test("a turn reads on in intervals until the store accepts the next commit")
    mutating func untilCommit() {
        begin()
        for _ in 0..<4 {
            driver.read(messages: 1, samples: 1, expecting: .pause(until: driver.now + .milliseconds(20)))
            driver.advance(.milliseconds(20))
            driver.send(.paused(isStoreIdle: true), expecting: .read)
        }
        driver.advance(.milliseconds(15))
        driver.read(messages: 1, samples: 1, expecting: .pause(until: driver.now + .milliseconds(5)))
        driver.advance(.milliseconds(5))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 1, samples: 1, expecting: .review(advancingTime: true))
    }

    @Test("a turn that begins late does not pause")
    mutating func late() {
        begin()
        driver.advance(.milliseconds(100))
        driver.read(messages: 1, samples: 1, expecting: .review(advancingTime: true))
    }

    @Test("a turn that has reached a limit of messages or samples does not pause")
    mutating func limit() {
        begin()
        for _ in 0..<9 { driver.read(messages: 100, isStoreIdle: false, expecting: .read) }
        driver.read(messages: 100, isStoreIdle: false, expecting: .review(advancingTime: true))
    }

    @Test("a commit that the store limits may hold more samples")
    mutating func samples() {
        begin()
        for _ in 0..<3 {
            driver.read(messages: 1, samples: 2000, expecting: .handOver)
            driver.send(.handedOver(samples: 2000), expecting: .read)
        }
        driver.read(messages: 100, samples: 999, expecting: .read)
        driver.read(messages: 100, samples: 1000, expecting: .review(advancingTime: true))
    }

    @Test("a part is handed over during a pause")
    mutating func part() {
        begin()
        for _ in 0..<5 { driver.read(messages: 100, isStoreIdle: false, expecting: .read) }
        driver.read(messages: 50, isStoreIdle: false, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .handOver)
    }

    @Test("pauses are short at a high rate")
    mutating func shortPause() {
        begin()
        driver.read(messages: 10, samples: 1000, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 10, samples: 1999, expecting: .pause(until: driver.now + .milliseconds(20)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 10, samples: 2000, expecting: .handOver)
        driver.send(.handedOver(samples: 2000), expecting: .read)
        driver.read(messages: 0, samples: 0, expecting: .pause(until: driver.now + .milliseconds(20)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 100, samples: 100, expecting: .read)
        driver.read(messages: 0, samples: 100, expecting: .pause(until: driver.now + .milliseconds(1)))
    }

    @Test("at a high rate, a turn reads on after the store accepts its commit")
    mutating func burst() {
        begin()
        driver.advance(.milliseconds(110))
        driver.read(messages: 10, samples: 1000, expecting: .pause(until: driver.now + .milliseconds(1)))
        driver.send(.paused(isStoreIdle: true), expecting: .read)
        driver.read(messages: 10, samples: 1999, expecting: .review(advancingTime: true))
    }

    @Test("a turn without messages does not pause")
    mutating func noPause() {
        begin()
        driver.read(messages: 0, expecting: .review(advancingTime: true))
    }

    @Test(
        "a turn also reads on while published states are not acknowledged: the broker may have sent many messages before"
    )
    mutating func statesInFlight() {
        begin()
        for id in 1...11 { driver.link(.queued(id: Int32(id))) }
        driver.read(messages: 1, samples: 1, expecting: .pause(until: driver.now + .milliseconds(20)))
    }
}
