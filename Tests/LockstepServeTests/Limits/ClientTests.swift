import LockstepHTTP
import NIOCore
import NIOEmbedded
import Testing

@Suite("Clients by address")
struct ClientTests {
    private func client(_ peer: String?, _ forwarded: String..., proxies: String? = nil) throws -> Client {
        let proxies = try proxies.map { try #require(TrustedProxies($0)) } ?? .none
        return proxies.client(peer: peer, forwardedFor: forwarded)
    }

    @Test("an IPv4 address counts for itself, and an IPv6 address with its /64 network")
    func keys() throws {
        #expect(try client("192.0.2.1").limitKey == "192.0.2.1")
        #expect(try client("::ffff:192.0.2.1").limitKey == "192.0.2.1")
        #expect(try client("2001:db8::1").limitKey == client("2001:db8::ffff:2").limitKey)
        #expect(try client("2001:db8::1").limitKey != client("2001:db8:0:1::1").limitKey)
        #expect(try client("fe80::1%eth0").address == "fe80::1")
    }

    @Test("this machine and unknown addresses have no limit by address")
    func shared() throws {
        for peer in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "x", nil] {
            #expect(try client(peer).limitKey == nil, "\(peer ?? "nil")")
        }
        #expect(try client("127.0.0.1").sharedKey == "127.0.0.1")
    }

    @Test("X-Forwarded-For counts only if it comes from a trusted proxy, and only its last address that is not a proxy")
    func forwarded() throws {
        #expect(try client("192.0.2.1", "198.51.100.7").limitKey == "192.0.2.1")
        #expect(try client("127.0.0.1", "198.51.100.7").limitKey == nil)
        let proxies = "127.0.0.1, 10.1.0.0/16,::1"
        #expect(try client("127.0.0.1", "1.1.1.1, 198.51.100.7", proxies: proxies).limitKey == "198.51.100.7")
        #expect(try client("10.1.2.3", "1.1.1.1", "198.51.100.7, 10.1.9.9", proxies: proxies).address == "198.51.100.7")
        #expect(try client("10.2.0.1", "1.1.1.1", proxies: proxies).limitKey == "10.2.0.1")
        // Nothing that is certain: the proxy is the client, without a limit.
        for field in ["", "unknown", "1.1.1.1, _hidden", "10.1.1.1"] {
            #expect(try client("::1", field, proxies: proxies).limitKey == nil, "\(field)")
        }
    }

    @Test("proxies are addresses and networks")
    func proxies() {
        for text in ["10.0.0.0/8", "::1", "fd00::/8,10.0.0.1", "0.0.0.0/0"] { #expect(TrustedProxies(text) != nil) }
        for text in ["", "proxy", "10.0.0.0/33", "10.0.0.1,", "10.0.0.1/x", "::1/129"] {
            #expect(TrustedProxies(text) == nil, "\(text)")
        }
    }

    private func connection(from address: String) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: address, port: 1)).wait()
        return channel
    }

    @Test("one address gets a quarter of the connections, this machine and proxies all of them")
    func connections() throws {
        var limits = HTTPLimits()
        limits.connections = 8
        limits.trustedProxies = try #require(TrustedProxies("10.0.0.1"))
        let open = OpenConnections(limits)
        let own = try (0..<3).map { _ in try connection(from: "2001:db8::1") }
        #expect(own.map(open.add) == [.accepted, .accepted, .tooManyOfAddress])
        #expect(open.add(try connection(from: "2001:db8::2")) == .tooManyOfAddress)
        try own[0].close().wait()
        own[0].embeddedEventLoop.run()
        #expect(open.add(try connection(from: "2001:db8::2")) == .accepted)
        let local = try ["127.0.0.1", "127.0.0.1", "127.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1"].map(connection)
        #expect(local.map(open.add) == Array(repeating: .accepted, count: 6))
        #expect(open.add(try connection(from: "192.0.2.1")) == .tooMany)
        #expect(open.counter.count == 8 && open.refused == 3)
    }
}
