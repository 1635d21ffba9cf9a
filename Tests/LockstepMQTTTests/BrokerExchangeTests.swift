import Foundation
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepMQTT

@Suite("An exchange with a broker")
struct BrokerExchangeTests {
    @Test("a message is sent again after the connection was lost, until its answer has arrived")
    func lostConnection() async throws {
        try await withBroker { broker in
            // The broker ends the connection of a client when another one with its id connects.
            let other = makeLink(broker, .three)
            var received = 0
            var hasFailed = false
            let exchange = BrokerExchange(
                makeLink(broker, .three), broker.address, filters: { ["request"] }
            ) { _ in received += 1 }
            defer { exchange.close() }
            let isDone = try exchange.send(
                MQTTMessage(topic: "request", payload: [1]), until: .now + .seconds(60)
            ) {
                if received == 1, !hasFailed { takeOver(other) }
                hasFailed = hasFailed || exchange.connectionError != nil
                return received == 2
            }
            #expect(isDone && hasFailed)
        }
    }

    @Test("a refusal of the broker names the topic, and what to do")
    func refusal() async throws {
        try await withTemporaryFolder { folder in
            try "topic read request\n".write(toFile: folder + "/acl", atomically: true, encoding: .utf8)
            try await withBroker(settings: ["acl_file \(folder)/acl"]) { broker in
                let exchange = BrokerExchange(makeLink(broker, .five), broker.address)
                defer { exchange.close() }
                let error = try #require(throws: ExchangeError.self) {
                    try exchange.send(MQTTMessage(topic: "request", payload: [1]), until: .now + .seconds(60)) {
                        exchange.isAccepted
                    }
                }
                #expect(error.description.hasSuffix(ExchangeError.advice(toWrite: "request")), "\(error)")
            }
        }
    }

    @Test("a broker that cannot be reached is named with the reason")
    func unreachable() throws {
        let closed = try LoopbackListener()
        closed.close()
        let address = BrokerAddress(host: "127.0.0.1", port: closed.port)
        let link = BrokerLink(wakeup: Wakeup(), version: .five) {
            MQTTOptions(address: address, clientID: "test", version: $0)
        }
        let exchange = BrokerExchange(link, address)
        defer { exchange.close() }
        _ = try exchange.wait(until: .now + .seconds(60)) { exchange.connectionError != nil }
        #expect(exchange.noAnswer.description.hasPrefix("\(address): Connection refused"), "\(exchange.noAnswer)")
    }

    /// Connects, and disconnects.
    private func takeOver(_ link: BrokerLink) {
        let deadline = ContinuousClock.now + .seconds(10)
        var isConnected = false
        while !isConnected, .now < deadline {
            link.wait(until: .now + .milliseconds(10))
            for case .connected in link.read() { isConnected = true }
            _ = link.write()
        }
        _ = link.abandon(MQTTError(.other, "test"))
    }

    private func makeLink(_ broker: TestBroker, _ version: MQTTVersion) -> BrokerLink {
        let address = broker.address
        return BrokerLink(
            wakeup: Wakeup(), version: version, backoff: Backoff(initial: .milliseconds(1), maximum: .milliseconds(1))
        ) { MQTTOptions(address: address, clientID: "test", version: $0) }
    }
}
