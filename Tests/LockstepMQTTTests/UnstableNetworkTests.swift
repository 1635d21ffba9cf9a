import Dispatch
import Glibc
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepMQTT

@Suite("A network that cuts each connection")
struct UnstableNetworkTests {
    @Test(
        "a connection that delivered something is followed by the next one soon, however often it is cut",
        arguments: [AnsweringBroker.Answer.puback, .message])
    func delivered(answer: AnsweringBroker.Answer) throws {
        let delays = try delaysAfterLosses(count: 6, answer)
        #expect(delays.allSatisfy { $0 <= .milliseconds(2) }, "\(delays)")
    }

    @Test(
        "after connections without a use, the delay grows",
        arguments: [AnsweringBroker.Answer.nothing, .retainedMessage])
    func nothingDelivered(answer: AnsweringBroker.Answer) throws {
        let delays = try delaysAfterLosses(count: 6, answer)
        #expect(try #require(delays.last) >= .milliseconds(32), "\(delays)")
    }

    @Test("if this side ends each connection because it cannot use what is delivered, the delay grows")
    func abandoned() throws {
        let delays = try delaysAfterLosses(count: 6, .message, abandons: true)
        #expect(try #require(delays.last) >= .milliseconds(32), "\(delays)")
    }

    @Test("a connection after an outage lowers the delay, also if it is cut at once")
    func outage() throws {
        let delays = try delaysAfterLosses(count: 6, .nothing, failures: 8)
        #expect(try #require(delays.first) <= .milliseconds(8), "\(delays)")
        // Further connections without a use do not.
        #expect(try #require(delays.last) >= .milliseconds(32), "\(delays)")
    }

    @Test("the third connection in a row that the broker soon ends is a takeover, if the broker still listens")
    func takenOver() throws {
        let delays = try delaysAfterLosses(count: 3, .message, probes: true)
        #expect(delays.map { $0 == .seconds(1) } == [false, false, true], "\(delays)")
    }

    private func delaysAfterLosses(
        count: Int, _ answer: AnsweringBroker.Answer, abandons: Bool = false, probes: Bool = false, failures: Int = 0
    ) throws -> [Duration] {
        let broker = try AnsweringBroker(answer)
        defer { broker.stop() }
        let closed = try LoopbackListener()
        closed.close()
        var attempts = 0
        let link = BrokerLink(
            wakeup: Wakeup(), version: .three, backoff: Backoff(initial: .milliseconds(2), maximum: .seconds(1))
        ) { version in
            attempts += 1
            let port = attempts > failures ? broker.port : closed.port
            return MQTTOptions(
                address: BrokerAddress(host: "127.0.0.1", port: port), clientID: "test", version: version)
        }
        link.probesBroker = probes
        var hasMessage = false
        link.onMessage = { _ in hasMessage = true }
        var delays: [Duration] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while delays.count < count, ContinuousClock.now < deadline {
            link.wait(until: .now + .milliseconds(5))
            var events = link.read(while: { !abandons || !hasMessage })
            if abandons, hasMessage, link.isUp {
                hasMessage = false
                events.append(link.abandon(MQTTError(.other, "the message cannot be stored")))
            }
            for event in events + link.write() {
                switch event {
                case .connected: try link.publish(MQTTMessage(topic: "t", payload: [1]))
                case .disconnected(_, let delay): delays.append(delay)
                default: break
                }
            }
        }
        return delays
    }
}

/// Accepts each connection with MQTT 3.1.1, waits for a message, answers it, and closes the connection.
final class AnsweringBroker: Sendable {
    enum Answer { case puback, message, retainedMessage, nothing }

    private let listener: LoopbackListener
    var port: UInt16 { listener.port }

    init(_ answer: Answer) throws {
        listener = try LoopbackListener()
        DispatchQueue(label: "answering broker").async { [listener] in
            while let connection = listener.accept() {
                Self.serve(connection, answer)
                close(connection)
            }
        }
    }

    func stop() { listener.close() }

    private static func serve(_ connection: Int32, _ answer: Answer) {
        var bytes = [UInt8](repeating: 0, count: 1024)
        // CONNECT.
        guard read(connection, &bytes, bytes.count) > 0 else { return }
        send([0x20, 2, 0, 0], to: connection)
        // PUBLISH with the topic of one letter: type, length, topic with its length, message id.
        guard read(connection, &bytes, bytes.count) > 6 else { return }
        switch answer {
        case .puback: send([0x40, 2, bytes[5], bytes[6]], to: connection)
        case .message: send([0x30, 4, 0, 1, 0x74, 1], to: connection)
        case .retainedMessage: send([0x31, 4, 0, 1, 0x74, 1], to: connection)
        case .nothing: break
        }
        // The client must read the answer before the end of the connection.
        shutdown(connection, Int32(SHUT_WR))
        while read(connection, &bytes, bytes.count) > 0 {}
    }

    private static func send(_ packet: [UInt8], to connection: Int32) { _ = write(connection, packet, packet.count) }
}
