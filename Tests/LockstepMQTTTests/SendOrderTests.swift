import Glibc
import Testing

@testable import LockstepMQTT

@Suite("Order of packets")
struct SendOrderTests {
    @Test("packets are sent in the order of the calls, and only a message that may overtake is sent before others")
    func order() throws {
        let broker = try ManualBroker()
        let connection = try broker.connect()
        try connection.subscribe(to: "t", qos: .atLeastOnce)
        try connection.publish(MQTTMessage(topic: "t", payload: Array("a".utf8)))
        try connection.publish(MQTTMessage(topic: "t", payload: Array("b".utf8), qos: .atMostOnce))
        for text in ["c", "d"] {
            try connection.publish(
                MQTTMessage(topic: "t", payload: Array(text.utf8), qos: .atMostOnce, mayOvertake: true))
        }
        let isComplete = broker.exchange(with: connection) { broker.packets.count == 5 }
        #expect(isComplete)
        #expect(broker.packets.map(\.type) == [.publish, .publish, .subscribe, .publish, .publish])
        let texts = broker.packets.compactMap(\.payload).map { String(decoding: $0, as: UTF8.self) }
        #expect(texts == ["c", "d", "a", "b"])
    }

    @Test("while the broker reads slowly, messages that may overtake do not hold back other packets")
    func slowBroker() throws {
        let broker = try ManualBroker()
        let connection = try broker.connect()
        var number = 0
        func publish() throws {
            number += 1
            let payload = Array("\(number) ".utf8) + [UInt8](repeating: 0x20, count: 1000)
            try connection.publish(MQTTMessage(topic: "t", payload: payload, qos: .atMostOnce, mayOvertake: true))
        }
        while !connection.wantsWrite {
            for _ in 0..<100 { try publish() }
            _ = connection.write()
        }
        try connection.subscribe(to: "t", qos: .atLeastOnce)
        let queued = number
        for _ in 0..<500 where !broker.packets.contains(where: { $0.type == .subscribe }) {
            // More than the broker reads.
            for _ in 0..<100 { try publish() }
            _ = connection.write()
            broker.read(limit: 50_000)
        }
        let before = broker.packets.prefix { $0.type == .publish }.count
        #expect(before < queued, "the subscription is sent after the packet that was sent in part")
        let isComplete = broker.exchange(with: connection) { broker.packets.count == number + 1 }
        #expect(isComplete)
        let numbers = broker.packets.compactMap(\.payload).map { payload in
            String(decoding: payload.prefix { $0 != 0x20 }, as: UTF8.self)
        }
        #expect(numbers == (1...number).map(String.init))
    }

    @Test("a message is not retained if the broker does not support this")
    func retain() throws {
        let broker = try ManualBroker()
        // The property Retain Available is 0.
        let connection = try broker.connect(.five, answer: [0x20, 5, 0, 0, 2, 0x25, 0])
        try connection.publish(
            MQTTMessage(topic: "t", payload: [1], qos: .atMostOnce, isRetained: true, mayOvertake: true))
        let isComplete = broker.exchange(with: connection) { broker.packets.count == 1 }
        #expect(isComplete)
        #expect(broker.packets.map(\.first) == [0x30])
    }

    @Test("a DISCONNECT is sent after all messages")
    func disconnect() throws {
        let broker = try ManualBroker()
        let connection = try broker.connect()
        let size = 5_000_000
        try connection.publish(MQTTMessage(topic: "t", payload: [UInt8](repeating: 0, count: size)))
        _ = connection.write()
        #expect(connection.wantsWrite, "the large message is sent in part")
        try connection.publish(MQTTMessage(topic: "t", payload: [1], qos: .atMostOnce, mayOvertake: true))
        connection.disconnect()
        let isComplete = broker.exchange(with: connection) { broker.packets.last?.type == .disconnect }
        #expect(isComplete)
        #expect(broker.packets.map(\.type) == [.publish, .publish, .disconnect])
        #expect(broker.packets.compactMap(\.payload?.count) == [size, 1])
    }
}

/// A broker that reads only when it is told to.
private final class ManualBroker {
    private struct SetupError: Error {}

    struct Packet {
        enum Kind: UInt8 {
            case connect = 1
            case publish = 3
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
    private let listener: Int32
    private var descriptor: Int32 = -1
    private var received: [UInt8] = []

    init() throws { listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }

    deinit {
        close(listener)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Connects a client whose socket holds little.
    /// - Parameter answer: the packet CONNACK.
    func connect(_ version: MQTTVersion = .three, answer: [UInt8] = [0x20, 2, 0, 0]) throws -> MQTTConnection {
        setBuffer(SO_RCVBUF, of: listener)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 10) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw SetupError() }
        let options = MQTTOptions(
            address: BrokerAddress(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port)), clientID: "test",
            version: version)
        let connection = try MQTTConnection(options)
        try connection.connect()
        descriptor = accept(listener, nil, nil)
        guard descriptor >= 0, let socket = connection.descriptor else { throw SetupError() }
        setBuffer(SO_SNDBUF, of: socket)
        guard exchange(with: connection, until: { packets.first?.type == .connect }) else { throw SetupError() }
        packets = []
        send(descriptor, answer, answer.count, 0)
        let deadline = ContinuousClock.now + .seconds(60)
        while !connection.isAccepted {
            guard !connection.hasEnded, .now < deadline else { throw SetupError() }
            wait(for: socket)
            _ = connection.read(limit: 1)
        }
        return connection
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
