import Testing

@testable import LockstepCollector

@Suite("Turn machine: order of a turn")
struct TurnMachineTests {
    private var driver = TurnDriver()

    @Test("a turn with messages reads, commits, settles, publishes and flushes, in this order")
    mutating func order() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.readAll(messages: 5)
        driver.send(.reviewed(.urgent), expecting: .commit)
        driver.send(.committed(next: nil), expecting: .settle)
        driver.send(.settled, expecting: .publish(states: 0..<0, acknowledgements: true))
        driver.send(.published, expecting: .flush)
        driver.send(.flushed, expecting: .endTurn(maintenance: true))
    }

    @Test("a turn with nothing to write publishes and flushes without a commit")
    mutating func nothingToWrite() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
        driver.send(.reviewed(.none), expecting: .publish(states: 0..<0, acknowledgements: true))
    }

    @Test("without a connection, the life cycles do not advance and nothing is acknowledged")
    mutating func disconnected() {
        driver.wakeUp(expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: false))
        driver.send(.reviewed(.none), expecting: .publish(states: 0..<0, acknowledgements: false))
        driver.send(.published, expecting: .flush)
    }

    @Test("after a lost connection, the messages already read are still committed")
    mutating func lostConnection() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.link(.disconnected(isTakenOver: false))
        driver.read(messages: 100, expecting: .review(advancingTime: false))
        driver.send(.reviewed(.urgent), expecting: .commit)
        driver.send(.committed(next: nil), expecting: .settle)
        driver.send(.settled, expecting: .publish(states: 0..<0, acknowledgements: false))
    }

    @Test("after a failed commit, the turn is rolled back and the connection dropped without a flush")
    mutating func failedCommit() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.readAll(messages: 5)
        driver.send(.reviewed(.urgent), expecting: .commit)
        driver.send(.commitFailed, expecting: .rollBack)
        driver.send(.rolledBack, expecting: .abandonConnection)
        driver.link(.disconnected(isTakenOver: false))
        driver.send(.abandoned, expecting: .endTurn(maintenance: false))
    }

    @Test("after a failed commit without a connection, the turn ends after the rollback")
    mutating func failedCommitWithoutConnection() {
        driver.wakeUp(expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: false))
        driver.send(.reviewed(.urgent), expecting: .commit)
        driver.send(.commitFailed, expecting: .rollBack)
        driver.send(.rolledBack, expecting: .endTurn(maintenance: false))
    }

    @Test("heartbeats wait at most one second for another reason to commit")
    mutating func deferral() {
        driver.connect()
        driver.turn(.deferrable, commits: false)
        driver.advance(.milliseconds(999))
        driver.turn(.deferrable, commits: false)
        driver.advance(.milliseconds(1))
        driver.turn(.deferrable, commits: true)
        // The time starts again after the commit.
        driver.advance(.milliseconds(999))
        driver.turn(.deferrable, commits: false)
    }

    @Test("any commit restarts the time for which heartbeats wait")
    mutating func deferralAfterCommit() {
        driver.connect()
        driver.turn(.deferrable, commits: false)
        driver.advance(.milliseconds(600))
        driver.turn(.urgent, commits: true)
        driver.turn(.deferrable, commits: false)
        driver.advance(.milliseconds(600))
        driver.turn(.deferrable, commits: false)
    }

    @Test("a failed commit restarts the time for which heartbeats wait")
    mutating func deferralAfterFailure() {
        driver.connect()
        driver.turn(.deferrable, commits: false)
        driver.advance(.seconds(2))
        driver.wakeUp(expecting: .read)
        driver.readAll(messages: 1)
        driver.send(.reviewed(.deferrable), expecting: .commit)
        driver.send(.commitFailed, expecting: .rollBack)
        driver.send(.rolledBack, expecting: .abandonConnection)
        driver.send(.abandoned, expecting: .endTurn(maintenance: false))
        driver.turn(.deferrable, commits: false)
    }

    @Test("the last turn commits waiting heartbeats at once")
    mutating func lastTurn() {
        driver.connect()
        driver.turn(.deferrable, commits: false)
        driver.send(.stopping, expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
        driver.send(.reviewed(.deferrable), expecting: .commit)
    }

    @Test("the last turn does not commit an empty group")
    mutating func emptyLastTurn() {
        driver.connect()
        driver.send(.stopping, expecting: .read)
        driver.read(messages: 0, expecting: .review(advancingTime: true))
        driver.send(.reviewed(.none), expecting: .publish(states: 0..<0, acknowledgements: true))
    }

    @Test(
        "the loop waits until the next acknowledgement is due, but for at most half a second",
        arguments: [(nil, 500), (200, 200), (700, 500), (-30, 0)] as [(Int?, Int)])
    mutating func maxWait(acknowledgement: Int?, expected: Int) {
        let next = acknowledgement.map { Duration.milliseconds($0) }
        #expect(driver.machine.maxWait(untilAcknowledgement: next) == .milliseconds(500))
        driver.connect()
        #expect(driver.machine.maxWait(untilAcknowledgement: next) == .milliseconds(expected))
    }
}
