import Dispatch
import Glibc
import LockstepModel
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepMQTT

@Suite("Link group")
struct LinkGroupTests {
    @Test("a link of a group does not probe the broker after short connections, because that blocks the other links")
    func probes() throws {
        let broker = try ClosingBroker()
        defer { broker.stop() }
        let wakeup = Wakeup()
        let address = try #require(try? BrokerAddress("mqtt://127.0.0.1:\(broker.port)"))
        let link = BrokerLink(
            wakeup: wakeup, version: .three,
            backoff: Backoff(initial: .milliseconds(1), maximum: .milliseconds(1))
        ) { version in MQTTOptions(address: address, clientID: "test", version: version) }
        let group = try LinkGroup(wakeup: wakeup)
        let number = group.add(link)
        var losses = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while losses < 4, ContinuousClock.now < deadline {
            for event in link.read() + link.write() { if case .disconnected = event { losses += 1 } }
            group.update(number)
            _ = group.wait(until: .now + .milliseconds(5))
        }
        #expect(losses == 4)
        #expect(broker.probes == 0)
    }
}

/// Accepts MQTT 3.1.1 connections and closes each of them soon.
final class ClosingBroker: Sendable {
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }
    private let count = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)

    /// The number of connections with a CONNECT.
    var connections: Int { accepted.load(ordering: .sequentiallyConsistent) }
    /// The number of connections without a CONNECT.
    var probes: Int { count.load(ordering: .sequentiallyConsistent) }

    init() throws {
        listener = try LoopbackListener()
        DispatchQueue.global().async { [self] in run() }
    }

    func stop() { listener.close() }

    private func run() {
        while let connection = listener.accept() {
            defer { close(connection) }
            var bytes = [UInt8](repeating: 0, count: 1024)
            guard read(connection, &bytes, bytes.count) > 0 else {
                count.add(1, ordering: .sequentiallyConsistent)
                continue
            }
            accepted.add(1, ordering: .sequentiallyConsistent)
            let answer: [UInt8] = [0x20, 2, 0, 0]
            _ = write(connection, answer, answer.count)
            // The client must see the connection before its end.
            usleep(20_000)
        }
    }
}
