import Testing

@testable import LockstepMQTT

@Suite("Link to a cluster")
struct SeveralNodesTests {
    @Test("the next node is used when a connection fails or is lost, and the first one after the last")
    func rotation() throws {
        // Each of them closes accepted connections at once.
        let brokers = try (0..<2).map { _ in try ClosingBroker() }
        defer { for broker in brokers { broker.stop() } }
        let unused = try ClosingBroker()
        unused.stop()
        let ports = [brokers[0].port, unused.port, brokers[1].port]
        let address = try BrokerAddress(ports.map { "mqtt://127.0.0.1:\($0)" }.joined(separator: ","))
        let link = BrokerLink(
            wakeup: Wakeup(), version: .three, backoff: Backoff(initial: .milliseconds(1), maximum: .milliseconds(1))
        ) { version in MQTTOptions(address: address, clientID: "test", version: version) }
        link.probesBroker = false
        var losses = 0
        var failures = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while losses < 4, ContinuousClock.now < deadline {
            link.wait(until: .now + .milliseconds(5))
            for event in link.read() + link.write() {
                switch event {
                case .disconnected: losses += 1
                case .failed: failures += 1
                default: break
                }
            }
        }
        // One, unused, two, one, unused, two.
        #expect(losses == 4 && failures == 2)
        #expect(brokers.map(\.connections) == [2, 2])
    }
}
