import LockstepMQTT
import Testing

@testable import LockstepCollector

@Suite("Turn machine: connection")
struct TurnMachineLinkTests {
    private var driver = TurnDriver()

    @Test("a new connection starts a session and publishes the states of all devices in portions")
    mutating func portions() {
        driver.connect(devices: 1200)
        for portion in [0..<500, 500..<1000, 1000..<1200, 1200..<1200] { driver.turn(publishing: portion) }
    }

    @Test("a reconnect publishes the states from the beginning")
    mutating func reconnect() {
        driver.connect(devices: 1200)
        driver.turn(publishing: 0..<500)
        driver.link(.disconnected(isTakenOver: false))
        driver.turn(publishing: 0..<0)
        driver.connect(devices: 1300)
        driver.turn(publishing: 0..<500)
    }

    @Test("a rolled-back turn publishes no states; the next turn continues")
    mutating func rollBack() {
        driver.connect(devices: 600)
        driver.turn(publishing: 0..<500)
        driver.failCommit(messages: 1)
        driver.turn(publishing: 500..<600)
    }

    @Test("the publication of states lasts until none are pending and few are in flight")
    mutating func publishingStates() {
        #expect(!driver.machine.isPublishingStates)
        driver.connect(devices: 501)
        driver.turn(publishing: 0..<500)
        #expect(driver.machine.isPublishingStates)
        driver.turn(publishing: 500..<501)
        #expect(!driver.machine.isPublishingStates)
        for id in 1...11 { driver.link(.queued(id: Int32(id))) }
        #expect(driver.machine.isPublishingStates)
        driver.link(.acknowledged(id: 99))
        #expect(driver.machine.isPublishingStates)
        driver.link(.acknowledged(id: 5))
        #expect(!driver.machine.isPublishingStates)
    }

    @Test("a new connection has no publishes in flight")
    mutating func inFlight() {
        driver.connect()
        for id in 1...11 { driver.link(.queued(id: Int32(id))) }
        driver.link(.disconnected(isTakenOver: false))
        driver.connect()
        #expect(!driver.machine.isPublishingStates)
    }

    @Test("a refused subscription is retried after five seconds")
    mutating func refusedSubscription() {
        driver.connect()
        driver.link(.subscriptionRefused, expecting: .reportRefusedSubscription)
        driver.advance(.milliseconds(4999))
        driver.turn(.none, commits: false)
        driver.advance(.milliseconds(1))
        driver.wakeUp(expecting: .read)
        driver.read(messages: 0, expecting: .subscribe)
        driver.send(.subscribed, expecting: .review(advancingTime: true))
        driver.endTurn()
        driver.advance(.seconds(10))
        driver.turn(.none, commits: false)
    }

    @Test("a refused subscription is not retried without a connection, or after a reconnect has subscribed")
    mutating func reconnectAfterRefusal() {
        driver.connect()
        driver.link(.subscriptionRefused, expecting: .reportRefusedSubscription)
        driver.link(.disconnected(isTakenOver: false))
        driver.advance(.seconds(6))
        driver.turn(.none, commits: false)
        driver.connect()
        driver.turn(.none, commits: false)
    }

    @Test("a lost connection is reported, except when the collector dropped it because of the store")
    mutating func disconnect() {
        driver.connect()
        driver.link(.disconnected(isTakenOver: false), expecting: .reportDisconnect)
        driver.stall()
        driver.connect()
        driver.link(.disconnected(isTakenOver: false), expecting: .ignore)
        driver.turn(.urgent, commits: true)
        driver.connect()
        driver.link(.disconnected(isTakenOver: false), expecting: .reportDisconnect)
    }

    @Test("a takeover by another client is reported, even while the store is stalled")
    mutating func takeover() {
        driver.connect()
        driver.link(.disconnected(isTakenOver: true), expecting: .reportTakeover)
        driver.stall()
        driver.connect()
        driver.link(.disconnected(isTakenOver: true), expecting: .reportTakeover)
    }

    @Test("repeated failures to connect are reported once for each reason, and again after a connection")
    mutating func failures() {
        let failures: [(MQTTError.Code, TurnMachine.LinkAction)] = [
            (.unreachable, .reportFailure), (.unreachable, .ignore), (.tls, .reportFailure), (.tls, .ignore),
            (.unreachable, .reportFailure),
        ]
        for (code, action) in failures { driver.link(.failed(code), expecting: action) }
        driver.connect()
        driver.link(.disconnected(isTakenOver: false))
        driver.link(.failed(.unreachable), expecting: .reportFailure)
    }

    @Test("with a writable store, the collector connects at once")
    mutating func writableStore() {
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        driver.link(.reconnectDue(hasTrialGroup: false), expecting: .connect)
    }

    @Test("while the store is stalled, the collector connects once to report it, and then only after a commit succeeds")
    mutating func stalledStore() {
        driver.connect()
        driver.stall()
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .tryCommit)
        driver.link(.triedCommit(succeeded: false), expecting: .stayDisconnected)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .tryCommit)
        driver.link(.triedCommit(succeeded: true), expecting: .connect)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        // A new stall is reported again.
        driver.stall()
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .tryCommit)
    }

    @Test("without samples to test the store with, the collector connects")
    mutating func stalledWithoutSamples() {
        driver.stall()
        driver.link(.reconnectDue(hasTrialGroup: false), expecting: .connect)
        driver.link(.reconnectDue(hasTrialGroup: false), expecting: .connect)
    }

    @Test("a commit that succeeds ends the stall")
    mutating func endOfStall() {
        driver.stall()
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        driver.turn(.urgent, commits: true)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
    }

    @Test("the store is not tested while parts of an open transaction are handed over")
    mutating func openTransaction() {
        driver.connect()
        driver.stall()
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 1, samples: 20_000, expecting: .handOver)
        driver.send(.handedOver(samples: 20_000), expecting: .read)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
    }

    @Test("a failed commit closes the transaction: the store can be tested, and an empty turn does not commit")
    mutating func closedTransaction() {
        driver.connect()
        driver.wakeUp(expecting: .read)
        driver.read(messages: 1, samples: 20_000, expecting: .handOver)
        driver.send(.handedOver(samples: 20_000), expecting: .read)
        driver.stall()
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .connect)
        driver.link(.reconnectDue(hasTrialGroup: true), expecting: .tryCommit)
        driver.turn(.none, commits: false)
    }
}
