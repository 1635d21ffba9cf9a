import Dispatch
import Glibc
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Logging
import Testing

@testable import LockstepCollector

@Suite("The check for another collector")
struct StoreCheckTests {
    private static let store = CollectorHealth.Store(id: "1", name: "/samples.db", host: "pi")
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func configuration(port: UInt16, version: MQTTVersion? = nil) throws -> CollectorConfiguration {
        var configuration = CollectorConfiguration(
            id: try CollectorID(validating: "main"), broker: BrokerAddress(host: "127.0.0.1", port: port))
        configuration.broker.version = version
        return configuration
    }

    private func check(_ behaviours: [ScriptedBroker.Behaviour], version: MQTTVersion? = nil) throws
        -> StoreCheck.Outcome
    {
        let broker = try ScriptedBroker(behaviours)
        defer { broker.stop() }
        let check = StoreCheck(
            configuration: try configuration(port: broker.port, version: version), store: Self.store,
            logger: Self.logger, isReconnecting: false, wasUnreachable: false, isStoreNew: false)
        return check.run { false }
    }

    @Test("is repeated if its connection is lost, three times at most")
    func lost() throws {
        #expect(try check([.closeAtSubscribe, .closeAtSubscribe, .answer], version: .three) == .free)
        guard case .unknown = try check([.closeAtSubscribe], version: .three) else {
            Issue.record("nothing is known")
            return
        }
    }

    @Test("waits for a busy broker that accepts the connection late")
    func lateAnswer() throws {
        #expect(try check([.answerLate], version: .three) == .free)
    }

    @Test("asks a broker that does not know MQTT 5, and closes the connection, with 3.1.1")
    func oldBroker() throws {
        #expect(try check([.closeAtConnect, .answer]) == .free)
        guard case .unknown = try check([.closeAtConnect]) else {
            Issue.record("nothing is known")
            return
        }
    }

    @Test("without a result, it does not end the disconnection of a collector that knows of another one")
    func unknown() async throws {
        try await withTemporaryFolder { folder in
            // Nothing listens on this port.
            let loop = try CollectorLoop(
                configuration(port: 1), store: try SQLiteStore(path: folder + "/samples.db"), wakeup: Wakeup(),
                logger: Self.logger, supervisor: .disabled,
                transitions: AsyncStream.makeStream(of: DeviceTransition.self).continuation, mailbox: RuleMailbox())
            defer { loop.writer.close() }
            func session() -> SessionState? {
                if case .session(let session) = loop.ownership { session } else { nil }
            }
            loop.ownership.updateSession { $0.phase = .taken(by: Self.store) }
            #expect(!loop.mayConnect { false })
            #expect(session()?.other == Self.store && session()?.unknown == nil)
            loop.ownership.didConnect()
            #expect(session()?.other == nil)
            #expect(loop.mayConnect { false })
            #expect(session()?.unknown != nil, "it warns when it connects")
            #expect(!loop.mayConnect { true }, "it is stopping")
        }
    }
}

/// A broker that confirms subscriptions with MQTT 3.1.1, or closes connections before it does.
private final class ScriptedBroker: Sendable {
    enum Behaviour {
        case closeAtConnect
        case closeAtSubscribe
        case answer
        /// Like `answer`, but after the client has reported the silence.
        case answerLate
    }

    private let listener: LoopbackListener
    var port: UInt16 { listener.port }

    /// - Parameter behaviours: the behaviour in one connection after the other; the last one stays.
    init(_ behaviours: [Behaviour]) throws {
        listener = try LoopbackListener()
        DispatchQueue(label: "scripted broker").async { [listener] in
            var number = 0
            while let connection = listener.accept() {
                Self.serve(connection, behaviours[min(number, behaviours.count - 1)])
                close(connection)
                number += 1
            }
        }
    }

    func stop() { listener.close() }

    private static func serve(_ connection: Int32, _ behaviour: Behaviour) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        // CONNECT
        guard read(connection, &bytes, bytes.count) > 0, behaviour != .closeAtConnect else { return }
        if behaviour == .answerLate {
            // Ends earlier if the client gives up.
            var silence = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            poll(&silence, 1, 5500)
        }
        let acceptance: [UInt8] = [0x20, 2, 0, 0]
        _ = write(connection, acceptance, acceptance.count)
        while case let count = read(connection, &bytes, bytes.count), count > 0 {
            // The client sends SUBSCRIBE only after the answer to the last one.
            guard bytes[0] == 0x82, count > 3 else { continue }
            guard behaviour != .closeAtSubscribe else { return }
            let answer: [UInt8] = [0x90, 3, bytes[2], bytes[3], 0]
            _ = write(connection, answer, answer.count)
        }
    }
}
