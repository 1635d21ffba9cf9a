import Dispatch
import Glibc
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
    private struct SetupError: Error {}

    let port: UInt16
    private let descriptor: Int32
    private let count = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)

    /// The number of connections with a CONNECT.
    var connections: Int { accepted.load(ordering: .sequentiallyConsistent) }
    /// The number of connections without a CONNECT.
    var probes: Int { count.load(ordering: .sequentiallyConsistent) }

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 10) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw SetupError() }
        DispatchQueue.global().async { [self] in run() }
    }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func run() {
        defer { close(descriptor) }
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
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
