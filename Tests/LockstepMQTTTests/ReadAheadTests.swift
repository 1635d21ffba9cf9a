import CLinux
import Glibc
import Testing

@Suite("Reading ahead") struct ReadAheadTests {
    /// The two ends of a connection that does not block.
    private func connection() throws -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private func send(_ text: String, to descriptor: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    private func receive(_ count: Int, from descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = Glibc.read(descriptor, &bytes, count)
        return read < 0 ? nil : String(decoding: bytes.prefix(read), as: UTF8.self)
    }

    @Test("libraries such as libmosquitto read with it") func librariesUseIt() throws {
        let system = try #require(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD))
        #expect(dlsym(nil, "read") != dlsym(system, "read"))
    }

    @Test("what was not read stays in the socket") func whatWasNotReadStaysInTheSocket() throws {
        let (near, far) = try connection()
        defer { for end in [near, far] { close(end) } }
        send("0123456789", to: far)
        read_ahead_begin(near)
        #expect(receive(1, from: near) == "0")
        #expect(receive(2, from: near) == "12")
        read_ahead_end(near)
        #expect(receive(3, from: near) == "345")
        read_ahead_begin(near)
        #expect(receive(1, from: near) == "6")
        #expect(receive(20, from: near) == "789")
        #expect(receive(1, from: near) == nil)
        send("ab", to: far)
        #expect(receive(1, from: near) == "a")
        shutdown(far, Int32(SHUT_WR))
        #expect(receive(5, from: near) == "b")
        #expect(receive(5, from: near) == "")
        read_ahead_end(near)
    }

    @Test("other descriptors are read as usual") func otherDescriptorsAreReadAsUsual() throws {
        let (near, far) = try connection()
        defer { for end in [near, far] { close(end) } }
        send("near", to: far)
        send("far", to: near)
        read_ahead_begin(near)
        #expect(receive(1, from: near) == "n")
        #expect(receive(9, from: far) == "far")
        #expect(receive(9, from: near) == "ear")
        read_ahead_end(near)
        #expect(receive(1, from: near) == nil)
    }

    @Test("a socket that was closed is not read") func closedSocketIsNotRead() throws {
        let (near, far) = try connection()
        defer { for end in [near, far] { close(end) } }
        send("0123", to: far)
        read_ahead_begin(near)
        #expect(receive(1, from: near) == "0")
        // A sanitizer has a read of its own, which does not read ahead.
        guard dlsym(nil, "__tsan_init") == nil, dlsym(nil, "__asan_init") == nil else { return }
        // As if another file had the number now.
        read_ahead_end(-1)
        #expect(receive(4, from: near) == "0123")
    }

    @Test("long payloads are read in order, across pieces") func longPayloadsAndPieces() throws {
        let (near, far) = try connection()
        defer { for end in [near, far] { close(end) } }
        let text = String((0..<60_000).map { Character(UnicodeScalar(UInt8(0x30 + $0 % 71))) })
        send(text, to: far)
        var received = ""
        var sizes = [1, 2, 100, 5000, 3, 20_000, 7].makeIterator()
        read_ahead_begin(near)
        while let part = receive(sizes.next() ?? 999, from: near), !part.isEmpty {
            received += part
            guard received.utf8.count % 2 == 0 else { continue }
            read_ahead_end(near)
            read_ahead_begin(near)
        }
        read_ahead_end(near)
        #expect(received == text)
    }
}
