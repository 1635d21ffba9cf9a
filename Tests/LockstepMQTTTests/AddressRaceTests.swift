import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepMQTT

@Suite("A host with several addresses")
struct AddressRaceTests {
    @Test("the families take turns, and the address that worked last comes first")
    func order() {
        let six = ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map { HostAddress(text: $0, isIPv6: true) }
        let four = ["192.0.2.1", "192.0.2.2"].map { HostAddress(text: $0, isIPv6: false) }
        func order(_ addresses: [HostAddress], preferred: String? = nil) -> [String] {
            HostAddress.inTurn(addresses, preferred: preferred).map(\.text)
        }
        #expect(
            order(six + four) == ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"])
        #expect(order(four + six).prefix(2) == ["192.0.2.1", "2001:db8::1"])
        #expect(order(six + four, preferred: "192.0.2.2").prefix(2) == ["192.0.2.2", "2001:db8::1"])
        #expect(order(six, preferred: "192.0.2.9") == six.map(\.text))
        #expect(order([]).isEmpty)
    }

    @Test(
        "an address that does not answer delays the first connection by a fraction of a second, and later ones not at all"
    )
    func silent() throws {
        // The queue of connections of the first address is full, so that it does not answer.
        let silent = try SilentListener()
        let listener = try OtherListener(port: silent.port)
        let memory = AddressMemory()
        let first = try race(port: silent.port, memory, ["127.0.0.1", listener.address]).run()
        #expect(first.connection.descriptor.flatMap(peer) == listener.address)
        #expect(first.unanswered == ["127.0.0.1"])
        let second = try race(port: silent.port, memory, ["127.0.0.1", listener.address]).run()
        #expect(second.connection.descriptor.flatMap(peer) == listener.address)
        #expect(second.unanswered.isEmpty)
    }

    @Test("an address that refuses is followed by the next one at once, and is no reason for a warning")
    func refused() throws {
        let unused = try LoopbackListener()
        unused.close()
        let listener = try OtherListener(port: unused.port)
        let memory = AddressMemory()
        let winner = try race(port: unused.port, memory, ["127.0.0.1", listener.address]).run()
        #expect(winner.connection.descriptor.flatMap(peer) == listener.address && winner.unanswered.isEmpty)
    }

    @Test("an attempt of another link that has just begun at the same address does not end this one")
    func otherLink() throws {
        let listener = try LoopbackListener()
        let memory = AddressMemory()
        for address in ["127.0.0.1", "127.0.0.2"] {
            _ = try #require(memory.begin(AddressMemory.Target(address: address, port: listener.port)))
        }
        let winner = try race(port: listener.port, memory, ["127.0.0.1", "127.0.0.2"]).run()
        #expect(winner.connection.descriptor.flatMap(peer) == "127.0.0.1")
    }

    @Test("only an attempt without an answer for more than two seconds keeps others from the same address and port")
    func running() {
        let memory = AddressMemory()
        let now = ContinuousClock.now
        func target(_ port: UInt16) -> AddressMemory.Target { AddressMemory.Target(address: "192.0.2.1", port: port) }
        #expect(memory.begin(target(1883), at: now) == now)
        let second = now + .seconds(2)
        #expect(memory.begin(target(1883), at: second) == second)
        let late = now + .seconds(3)
        #expect(memory.begin(target(1883), at: late) == nil && memory.begin(target(8883), at: late) == late)
        memory.end(target(1883), begunAt: now)
        #expect(memory.begin(target(1883), at: late) == late)
        #expect(memory.begin(target(1883), at: late + .seconds(2)) == nil, "the second attempt still runs")
    }

    @Test("if no address accepts a connection, the error is that of an address")
    func none() throws {
        let unused = try LoopbackListener()
        unused.close()
        let error = #expect(throws: MQTTError.self) {
            try race(port: unused.port, AddressMemory(), ["127.0.0.1", "127.0.0.2"]).run()
        }
        #expect(error?.code == .unreachable && error?.description.hasPrefix("Connection refused: ") == true)
    }

    @Test("on a slow link, the next address is tried later, but within two seconds")
    func delay() {
        let memory = AddressMemory()
        #expect(memory.delay(of: "host") == .milliseconds(250))
        memory.didConnect(to: "192.0.2.1", of: "host", after: .milliseconds(400))
        #expect(memory.delay(of: "host") == .milliseconds(800))
        memory.didConnect(to: "192.0.2.1", of: "host", after: .seconds(4))
        #expect(memory.delay(of: "host") == .seconds(2) && memory.delay(of: "other") == .milliseconds(250))
    }

    /// A race for a name that only this race knows.
    private func race(port: UInt16, _ memory: AddressMemory, _ addresses: [String]) -> AddressRace {
        let options = MQTTOptions(address: BrokerAddress(host: "broker.invalid", port: port), clientID: "test")
        return AddressRace(options: options, memory: memory) { _ throws(MQTTError) in
            addresses.map { HostAddress(text: $0, isIPv6: false) }
        }
    }

    private func peer(of descriptor: Int32) -> String? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        guard status == 0 else { return nil }
        return withUnsafeBytes(of: address.sin_addr.s_addr) { $0.map { "\($0)" }.joined(separator: ".") }
    }
}

/// Listens at another loopback address than ``LoopbackListener``.
private final class OtherListener {
    let address = "127.0.0.2"
    private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

    init(port: UInt16) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0002).bigEndian
        let isListening = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(descriptor, 16) == 0
            }
        }
        guard isListening else { throw ProgramError("cannot listen at \(self.address):\(port)") }
    }

    deinit { close(descriptor) }
}
