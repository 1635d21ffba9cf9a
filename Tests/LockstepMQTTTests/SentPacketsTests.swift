import Dispatch
import Glibc
import LockstepModel
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepMQTT

@Suite("Sent packets")
struct SentPacketsTests {
    @Test("a message with QoS 0 causes no event")
    func event() throws {
        let broker = try ManualBroker()
        let connection = try broker.connect()
        try connection.publish(MQTTMessage(topic: "t", payload: [1], qos: .atMostOnce))
        var events = connection.write()
        while connection.wantsWrite { events += connection.write() }
        #expect(events.isEmpty)
    }

    @Test("a DISCONNECT is sent after all messages")
    func disconnect() throws {
        let broker = try ManualBroker()
        let connection = try broker.connect()
        let size = 5_000_000
        try connection.publish(MQTTMessage(topic: "t", payload: [UInt8](repeating: 0, count: size)))
        _ = connection.write()
        #expect(connection.wantsWrite, "the large message is sent in part")
        try connection.publish(MQTTMessage(topic: "t", payload: [1], qos: .atMostOnce))
        connection.disconnect()
        let isComplete = broker.exchange(with: connection) { broker.packets.last?.type == .disconnect }
        #expect(isComplete)
        #expect(broker.packets.map(\.type) == [.publish, .publish, .disconnect])
        #expect(broker.packets.compactMap(\.payload?.count) == [size, 1])
    }

    @Test("a message that arrives while a DISCONNECT waits is not acknowledged, because nobody stores it")
    func message() throws {
        let broker = try ManualBroker()
        let link = try broker.connectLink()
        let payload = [UInt8](repeating: 0, count: 500_000)
        // More than the sockets hold.
        for _ in 0..<40 {
            _ = try link.publish(MQTTMessage(topic: "t", payload: payload, qos: .atMostOnce))
        }
        _ = link.write()
        #expect(link.wantsWrite)
        // PUBLISH with QoS 1, topic t, id 7 and a byte.
        broker.send([0x32, 6, 0, 1, 0x74, 0, 7, 1])
        let packets = broker.readToEnd()
        link.stop(until: .now + .seconds(60))
        let types = packets().map(\.type)
        #expect(types.last == .disconnect && types.dropLast().allSatisfy { $0 == .publish }, "\(types.suffix(3))")
        #expect(types.count == 41)
    }
}

/// A broker that reads only when it is told to.
private final class ManualBroker {
    private struct SetupError: Error {}

    struct Packet {
        enum Kind: UInt8 {
            case connect = 1
            case publish = 3
            case puback = 4
            case subscribe = 8
            case disconnect = 14
        }

        let first: UInt8
        let body: ArraySlice<UInt8>

        var type: Kind? { Kind(rawValue: first >> 4) }

        /// The payload of a PUBLISH with MQTT 3.1.1.
        var payload: [UInt8]? {
            guard type == .publish else { return nil }
            let topic = body.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            return Array(body.dropFirst(2 + topic + (first & 6 == 0 ? 0 : 2)))
        }
    }

    /// The packets that were received after CONNECT.
    private(set) var packets: [Packet] = []
    private let listener: LoopbackListener
    private var descriptor: Int32 = -1
    private var received: [UInt8] = []

    init() throws {
        listener = try LoopbackListener()
        setBuffer(SO_RCVBUF, of: listener.descriptor)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Connects a client with MQTT 3.1.1 whose socket holds little.
    func connect() throws -> MQTTConnection {
        let options = MQTTOptions(
            address: BrokerAddress(host: "127.0.0.1", port: listener.port), clientID: "test", version: .three)
        let connection = try MQTTConnection(options)
        try connection.connect()
        guard let accepted = listener.accept(), let socket = connection.descriptor else { throw SetupError() }
        descriptor = accepted
        setBuffer(SO_SNDBUF, of: socket)
        guard exchange(with: connection, until: { packets.first?.type == .connect }) else { throw SetupError() }
        packets = []
        send([0x20, 2, 0, 0])
        let deadline = ContinuousClock.now + .seconds(60)
        while !connection.isAccepted {
            guard !connection.hasEnded, .now < deadline else { throw SetupError() }
            wait(for: socket)
            _ = connection.read(limit: 1)
        }
        return connection
    }

    /// Connects a link with MQTT 3.1.1.
    func connectLink() throws -> BrokerLink {
        let port = listener.port
        let link = BrokerLink(wakeup: Wakeup(), version: .three) { version in
            MQTTOptions(address: BrokerAddress(host: "127.0.0.1", port: port), clientID: "test", version: version)
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while !link.isUp {
            guard .now < deadline else { throw SetupError() }
            link.wait(until: .now + .milliseconds(10))
            _ = link.read()
            _ = link.write()
            if descriptor < 0, link.socket != nil, let accepted = listener.accept() {
                descriptor = accepted
                send([0x20, 2, 0, 0])
            }
        }
        return link
    }

    func send(_ bytes: [UInt8]) { Glibc.send(descriptor, bytes, bytes.count, 0) }

    /// Reads until the client ends the connection, on another thread.
    /// - Returns: waits for the end, and returns the packets after CONNECT.
    func readToEnd() -> () -> [Packet] {
        let bytes = ReadBytes()
        let isOver = DispatchSemaphore(value: 0)
        DispatchQueue(label: "broker").async { [descriptor] in
            var buffer = [UInt8](repeating: 0, count: 1_000_000)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                bytes.add(buffer[..<count])
            }
            isOver.signal()
        }
        return {
            isOver.wait()
            var rest = bytes.all[...]
            var packets: [Packet] = []
            while let packet = Self.packet(in: &rest) { packets.append(packet) }
            return packets.filter { $0.type != .connect }
        }
    }

    /// Lets the client write and the broker read until a condition is true.
    func exchange(with connection: MQTTConnection, until isComplete: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while !isComplete() {
            guard .now < deadline else { return false }
            _ = connection.write()
            wait(for: descriptor)
            read(limit: 1_000_000)
        }
        return true
    }

    /// Reads at most `limit` bytes of those that have arrived.
    func read(limit: Int) {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, Int32(MSG_DONTWAIT))
        guard count > 0 else { return }
        received += buffer[..<count]
        var rest = received[...]
        while let packet = Self.packet(in: &rest) { packets.append(packet) }
        received = Array(rest)
    }

    /// Removes a complete packet.
    private static func packet(in bytes: inout ArraySlice<UInt8>) -> Packet? {
        guard let first = bytes.first else { return nil }
        var length = 0
        for (index, byte) in bytes.dropFirst().prefix(4).enumerated() {
            length |= Int(byte & 0x7f) << (7 * index)
            guard byte < 0x80 else { continue }
            let body = bytes.dropFirst(2 + index)
            guard body.count >= length else { return nil }
            bytes = body.dropFirst(length)
            return Packet(first: first, body: body.prefix(length))
        }
        return nil
    }

    private func wait(for descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 10)
    }

    private func setBuffer(_ option: Int32, of descriptor: Int32) {
        var size: Int32 = 16_384
        setsockopt(descriptor, SOL_SOCKET, option, &size, socklen_t(MemoryLayout<Int32>.size))
    }
}

/// Bytes that one thread adds and another one reads.
private final class ReadBytes: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    var all: [UInt8] { bytes.withLock { $0 } }

    func add(_ new: ArraySlice<UInt8>) { bytes.withLock { $0 += new } }
}
