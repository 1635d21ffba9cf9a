import Dispatch
import Glibc
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepMQTT

@Suite("A broker without MQTT 5")
struct VersionFallbackTests {
    @Test("its refusal is not reported as a failure: the link connects with 3.1.1 at once, and keeps that version")
    func fallback() throws {
        let broker = try OldBroker()
        defer { broker.stop() }
        // A backoff would last longer than the test.
        let link = makeLink(broker, version: nil, backoff: .seconds(3600))
        #expect(try events(of: link, count: 1) == ["connected 3.1.1"])
        _ = link.abandon(MQTTError(.other, "test"))
        // Without the backoff after the loss.
        link.reconnect()
        #expect(try events(of: link, count: 1) == ["connected 3.1.1"])
    }

    @Test("its refusal at the deadline of the handshake is not reported as a missing answer")
    func deadline() throws {
        let broker = try OldBroker(isSilent: true)
        defer { broker.stop() }
        let link = makeLink(broker, version: nil, backoff: .seconds(3600))
        link.handshakeLimits = (one: .zero, several: .zero)
        let deadline = ContinuousClock.now + .seconds(60)
        while link.socket == nil, ContinuousClock.now < deadline {
            link.wait(until: deadline)
            #expect(link.read().isEmpty)
        }
        // CONNECT is sent.
        #expect(link.write().isEmpty)
        broker.answer()
        var answer = pollfd(fd: try #require(link.socket).descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&answer, 1, 60_000) == 1)
        link.handshakeLimits = (one: .seconds(60), several: .seconds(60))
        #expect(try events(of: link, count: 1) == ["connected 3.1.1"])
    }

    @Test("a server that does not answer is reported once, and its late answer still counts")
    func silence() throws {
        let broker = try OldBroker(isSilent: true)
        defer { broker.stop() }
        let link = makeLink(broker, version: .three, backoff: .seconds(3600))
        link.silenceLimit = .milliseconds(20)
        #expect(
            try events(of: link, count: 1).first?.hasPrefix(
                "failed: the server accepts connections, but does not answer as an MQTT broker") == true)
        broker.answer()
        #expect(try events(of: link, count: 1) == ["connected 3.1.1"])
    }

    @Test("its refusal is reported if no other version may be used")
    func fixed() throws {
        let broker = try OldBroker()
        defer { broker.stop() }
        #expect(
            try events(of: makeLink(broker, version: .five, backoff: .milliseconds(1)), count: 2)
                == Array(repeating: "failed: the broker does not support MQTT 5", count: 2))
    }

    private func makeLink(_ broker: OldBroker, version: MQTTVersion?, backoff: Duration) -> BrokerLink {
        let address = BrokerAddress(host: "127.0.0.1", port: broker.port)
        return BrokerLink(
            wakeup: Wakeup(), version: version, backoff: Backoff(initial: backoff, maximum: backoff)
        ) { version in MQTTOptions(address: address, clientID: "test", version: version) }
    }

    private func events(of link: BrokerLink, count: Int) throws -> [String] {
        var texts: [String] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while texts.count < count, ContinuousClock.now < deadline {
            link.wait(until: .now + .milliseconds(5))
            for event in link.read() + link.write() {
                switch event {
                case .connected(let version, _): texts.append("connected \(version.rawValue)")
                case .failed(let error, _): texts.append("failed: \(error)")
                default: texts.append("\(event)")
                }
            }
        }
        return texts
    }
}

/// Accepts connections with MQTT 3.1.1, and refuses those with MQTT 5.
private final class OldBroker: Sendable {
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }
    /// Counts the connections that may be answered.
    private let answers: DispatchSemaphore

    /// Starts a broker.
    /// - Parameter isSilent: whether it does not answer before ``answer()`` is called.
    init(isSilent: Bool = false) throws {
        answers = DispatchSemaphore(value: 0)
        listener = try LoopbackListener()
        if !isSilent { answer() }
        DispatchQueue(label: "old broker").async { [listener, answers] in Self.run(listener, answers) }
    }

    func answer() { for _ in 1...1000 { answers.signal() } }

    func stop() {
        listener.close()
        answer()
    }

    private static func run(_ listener: LoopbackListener, _ answers: DispatchSemaphore) {
        var accepted: [Int32] = []
        defer { for connection in accepted { close(connection) } }
        while let connection = listener.accept() {
            var bytes = [UInt8](repeating: 0, count: 1024)
            // The CONNECT packet: type, length, the name MQTT with its length, and the version.
            let isAccepted = read(connection, &bytes, bytes.count) > 8 && bytes[8] == 4
            answers.wait()
            guard isAccepted else {
                let refusal: [UInt8] = [0x20, 2, 0, 1]
                _ = write(connection, refusal, refusal.count)
                close(connection)
                continue
            }
            let acceptance: [UInt8] = [0x20, 2, 0, 0]
            _ = write(connection, acceptance, acceptance.count)
            accepted.append(connection)
        }
    }
}
