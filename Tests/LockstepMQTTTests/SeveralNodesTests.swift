import Glibc
import LockstepModel
import LockstepTestSupport
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

    @Test("the system gives up a connection for lack of acknowledgements only, however long the broker takes")
    func slowBroker() throws {
        let silent = try LoopbackListener()
        let options = MQTTOptions(
            address: try BrokerAddress("mqtt://127.0.0.1:\(silent.port)"), clientID: "test", peerTimeout: 1)
        let connection = try MQTTConnection(options)
        try connection.connect()
        var limit: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        #expect(
            getsockopt(try #require(connection.descriptor), Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, &size) == 0)
        #expect(limit == 1000)
        let end = ContinuousClock.now + .seconds(3)
        let wakeup = Wakeup()
        // Not waiting for an event: there must be none.
        while ContinuousClock.now < end {
            #expect((connection.read(limit: 1) + connection.write()).isEmpty)
            wakeup.wait(for: connection.descriptor.map { ($0, wantsWrite: false) }, until: end)
        }
    }

    @Test("a node that does not answer at all is left soon, and the next link begins with the other one")
    func silence() throws {
        let down = try SilentListener()
        let other = try LoopbackListener()
        let address = try BrokerAddress("mqtt://127.0.0.1:\(down.port),mqtt://127.0.0.1:\(other.port)")
        let node = NodeChoice()
        var failures: [String] = []
        for _ in 1...2 {
            let link = BrokerLink(wakeup: Wakeup(), version: .three, node: node) { version in
                MQTTOptions(address: address, clientID: "test", version: version)
            }
            link.connectLimit = .seconds(1)
            let deadline = ContinuousClock.now + .seconds(60)
            while link.socket == nil, ContinuousClock.now < deadline {
                link.wait(until: deadline)
                for case .failed(let error, _) in link.read() { failures.append(error.description) }
            }
            #expect(link.socket != nil)
            _ = link.abandon(MQTTError(.other, "test"))
            #expect(node.current == 1, "a connection that this side ends does not count against its node")
        }
        #expect(failures == ["no connection within 1.0 seconds"])
    }
}
