import LockstepMQTT
import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The agent's connection")
struct ConnectionTests {
    private var loop = FakeLoop()

    @Test("a connection subscribes and publishes the presence, first with the reason 'start'")
    mutating func connected() {
        loop.connect(packetLimit: 5000)
        let first = loop.take()
        loop.disconnect()
        _ = loop.take()
        loop.connect()
        let second = loop.take()
        #expect(first == ["info: connected to broker", "subscribe", "presence foreground (start)"])
        #expect(second == ["info: connected to broker", "subscribe", "presence foreground (reconnect)"])
    }

    @Test("the packet limit of the broker applies to new batches until the next connection")
    mutating func packetLimit() {
        loop.connect(packetLimit: 5000)
        let limited = loop.state.coalescer.packetLimit
        loop.disconnect()
        loop.connect()
        #expect(limited == 5000 && loop.state.coalescer.packetLimit == nil)
    }

    @Test("each lost connection is logged; a failure to connect is logged once per reason until the next connection")
    mutating func logging() {
        func fail(_ code: MQTTError.Code, _ loop: inout FakeLoop) {
            loop.send(.link(.failed(MQTTError(code, "test"), retryIn: .zero), packetLimit: nil))
        }
        fail(.unreachable, &loop)
        fail(.unreachable, &loop)
        fail(.badCredentials, &loop)
        let failures = loop.take()
        loop.connect()
        _ = loop.take()
        loop.disconnect()
        loop.connect()
        loop.disconnect()
        let losses = loop.take().filter { $0.hasPrefix("warning") }
        loop.connect()
        _ = loop.take()
        fail(.unreachable, &loop)
        let again = loop.take()
        let failure = "warning: cannot connect to broker, retrying"
        #expect(failures == [failure, failure] && again == [failure])
        #expect(losses == Array(repeating: "warning: connection lost, samples kept in outbox", count: 2))
    }

    @Test("another agent with the same id is an error once in ten minutes, and only if the link has detected it")
    mutating func takeover() {
        for _ in 0..<20 {
            loop.connect()
            loop.disconnect(.connectionLost)
        }
        let lost = loop.take()
        for _ in 0..<2 {
            loop.connect()
            loop.disconnect(.takenOver)
        }
        let taken = loop.take()
        #expect(!lost.contains { $0.contains("another agent") })
        #expect(taken.filter { $0.contains("another agent") } == ["error: another agent uses the same device id"])
        #expect(taken.filter { $0.contains("connection lost") }.count == 1, "the next attempt is logged")
    }

    @Test("a refused subscription is logged once, and retried after five seconds if there is a connection")
    mutating func refusedSubscription() {
        loop.connect()
        loop.subscribed(isGranted: false)
        let refused = loop.take().filter { $0.hasPrefix("error") }
        loop.turn(after: 4_999_999)
        let early = loop.take()
        loop.turn(after: 1)
        let retried = loop.take()
        loop.turn(after: 10_000_000)
        let once = loop.take()
        loop.subscribed(isGranted: false)
        let again = loop.take()
        loop.disconnect()
        loop.turn(after: 5_000_000)
        let disconnected = loop.take()
        loop.connect()
        loop.turn(after: 5_000_000)
        let connected = loop.take()
        #expect(refused == ["error: subscription refused by broker"] && again.isEmpty)
        #expect(!early.contains("subscribe") && retried.contains("subscribe") && !once.contains("subscribe"))
        #expect(!disconnected.contains("subscribe"))
        #expect(connected.filter { $0 == "subscribe" }.count == 1, "the connection has subscribed already")
    }

    @Test("a refused subscription is reported once for each connection")
    mutating func refusedAgain() {
        loop.connect()
        for _ in 0..<2 { loop.subscribed(isGranted: false) }
        loop.disconnect()
        loop.connect()
        loop.subscribed(isGranted: false)
        #expect(loop.take().filter { $0 == "error: subscription refused by broker" }.count == 2)
    }

    @Test("a granted subscription is not retried")
    mutating func grantedSubscription() {
        loop.connect()
        loop.subscribed()
        _ = loop.take()
        loop.turn(after: 60_000_000)
        #expect(!loop.take().contains("subscribe"))
    }

    @Test("a refused message is logged once, and its batch is retried later")
    mutating func refusedMessage() {
        loop.connect()
        loop.add([1])
        loop.turn(after: 1_000_000)
        let ids = [loop.lastID, loop.lastID]
        _ = loop.take()
        for id in ids {
            loop.send(.link(.published(id: id, refusal: MQTTError(.notAuthorized, "test")), packetLimit: nil))
        }
        let logged = loop.take()
        #expect(logged == ["error: message refused by broker"])
        #expect(loop.state.delivery.inFlightCount == 0 && !loop.state.delivery.isEmpty)
    }

    @Test("an unreadable acknowledgement is logged once")
    mutating func unreadable() {
        for _ in 0..<2 { loop.send(.unreadableAcknowledgement(outboxError)) }
        #expect(loop.take() == ["warning: acknowledgement unreadable"])
    }
}
