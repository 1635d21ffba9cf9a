import Glibc
import Testing

@testable import LockstepMQTT

@Suite("Packet buffer")
struct PacketBufferTests {
    @Test("a packet has the form of the MQTT standard, with the length of the properties only in MQTT 5")
    func form() throws {
        let message = MQTTMessage(topic: "ä/b", payload: Array("hello".utf8), qos: .atMostOnce, isRetained: true)
        #expect(try sent(message, .three) == [0x31, 11, 0, 4] + "ä/bhello".utf8)
        #expect(try sent(message, .five) == [0x31, 12, 0, 4] + "ä/b".utf8 + [0] + "hello".utf8)
        let empty = MQTTMessage(topic: "a", payload: [], qos: .atMostOnce)
        #expect(try sent(empty, .three) == [0x30, 3, 0, 1, UInt8(ascii: "a")])
    }

    @Test(
        "the length of a packet has as many bytes as necessary",
        arguments: [
            (size: 124, length: [127]), (size: 125, length: [0x80, 1]), (size: 16_380, length: [0xFF, 0x7F]),
            (size: 16_381, length: [0x80, 0x80, 1]),
        ] as [(size: Int, length: [UInt8])])
    func length(size: Int, length: [UInt8]) throws {
        let payload = [UInt8](repeating: 7, count: size)
        let bytes = try sent(MQTTMessage(topic: "t", payload: payload, qos: .atMostOnce), .three)
        #expect(bytes == [0x30] + length + [0, 1, UInt8(ascii: "t")] + payload)
    }

    @Test("messages that need another packet, are invalid or too large for the broker are left to libmosquitto")
    func refused() {
        var buffer = PacketBuffer()
        func accepts(_ topic: String, size: Int = 10, qos: QualityOfService = .atMostOnce) -> Bool {
            buffer.append(
                MQTTMessage(topic: topic, payload: [UInt8](repeating: 0, count: size), qos: qos), version: .five,
                maxSize: 100)
        }
        var accepted = [
            "", "a/+/b", "a/#", "a\0b", "a\u{1}b", "a\u{7F}", "a\u{FFFF}",
            String(repeating: "a", count: 65_536),
        ].filter { accepts($0) }
        if accepts("a", qos: .atLeastOnce) { accepted.append("QoS 1") }
        // One byte more than the broker accepts.
        if accepts("a", size: 95) { accepted.append("too large") }
        let typed = MQTTMessage(topic: "a", payload: [], qos: .atMostOnce, contentType: "text/plain")
        if buffer.append(typed, version: .five, maxSize: nil) { accepted.append("content type") }
        #expect(accepted.isEmpty && buffer.isEmpty)
        let isAppended = accepts("a", size: 94)
        #expect(isAppended && !buffer.isEmpty)
    }

    @Test("a socket that accepts only a part gets the rest later, and a closed one reports an error")
    func parts() throws {
        let (near, far) = try socketPair()
        defer { close(near) }
        var buffer = PacketBuffer()
        var expected: [UInt8] = []
        for number in 0..<2000 {
            let payload = Array(repeating: UInt8(number % 251), count: 500)
            let isAppended = buffer.append(
                MQTTMessage(topic: "t", payload: payload, qos: .atMostOnce), version: .three, maxSize: nil)
            #expect(isAppended)
            expected += [0x30, 0xF7, 3, 0, 1, UInt8(ascii: "t")] + payload
        }
        let first = buffer.send(to: near)
        #expect(first == 0 && !buffer.isEmpty)
        var received = read(far)
        while !buffer.isEmpty {
            let error = buffer.send(to: near)
            #expect(error == 0)
            received += read(far)
        }
        #expect(received == expected)

        close(far)
        let isAppended = buffer.append(
            MQTTMessage(topic: "t", payload: [], qos: .atMostOnce), version: .three, maxSize: nil)
        #expect(isAppended)
        let error = buffer.send(to: near)
        #expect(error == EPIPE)
    }

    /// Returns the bytes of a message on a socket.
    private func sent(_ message: MQTTMessage, _ version: MQTTVersion) throws -> [UInt8] {
        let (near, far) = try socketPair()
        defer {
            close(near)
            close(far)
        }
        var buffer = PacketBuffer()
        let isAppended = buffer.append(message, version: version, maxSize: nil)
        let error = buffer.send(to: near)
        #expect(isAppended && error == 0 && buffer.isEmpty)
        return read(far)
    }

    private struct SetupError: Error {}

    private func socketPair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SetupError() }
        return (ends[0], ends[1])
    }

    /// Reads all bytes that have arrived.
    private func read(_ descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
