import LockstepModel
import Testing

@testable import LockstepCollector

@Suite("Claim of a lease")
struct LeaseClaimTests {
    private let mine = LeaseOwner(collector: CollectorID(unchecked: "a"), claim: 1)
    private let other = LeaseOwner(collector: CollectorID(unchecked: "b"), claim: 2)

    @Test("a claim holds when the broker has confirmed and returned it")
    func held() throws {
        var claim = LeaseClaim(mine, floor: 100)
        let record = try #require(claim.subscribed())
        #expect(record == LeaseRecord(token: token(100), owner: mine))
        #expect(claim.received(record) == nil && claim.token == nil)
        claim.confirmed(record)
        #expect(claim.token == token(100))
    }

    @Test("a claim has a higher token than the earlier one, also if the clock was set back")
    func higher() throws {
        var claim = LeaseClaim(mine, floor: 100)
        let first = try #require(claim.subscribed())
        claim.confirmed(first)
        let second = try #require(claim.received(LeaseRecord(token: token(500), owner: other)))
        #expect(second.token == token(501))
        // The broker confirms the first record late, and returns it.
        claim.confirmed(first)
        #expect(claim.received(first) == nil && claim.token == nil)
        claim.confirmed(second)
        #expect(claim.received(second) == nil && claim.token == token(501))
    }

    @Test("a free share keeps its token")
    func free() throws {
        var claim = LeaseClaim(mine, floor: 100)
        let free = try #require(LeaseRecord(LeaseRecord(token: token(700), owner: nil).payload))
        #expect(claim.received(free) == nil)
        #expect(claim.subscribed()?.token == token(701))
    }

    @Test("a lease is lost when another collector claims it, but not by a renewal")
    func lost() throws {
        var claim = LeaseClaim(mine, floor: 100)
        let record = try #require(claim.subscribed())
        claim.confirmed(record)
        _ = claim.received(record)
        #expect(claim.received(record) == nil && claim.token == token(100))
        #expect(claim.received(LeaseRecord(token: token(101), owner: other)) == nil && claim.phase == .lost)
        #expect(claim.received(LeaseRecord(token: token(102), owner: other)) == nil && claim.token == nil)
    }

    @Test("records are read as they are written", arguments: ["7 a:18446744073709551615", "7"])
    func payloads(text: String) {
        #expect(LeaseRecord(Array(text.utf8)).map { String(decoding: $0.payload, as: UTF8.self) } == text)
    }

    @Test("invalid records are ignored", arguments: ["", "x", "-1 a:1", "1 a", "1 a:b", "1 a:1 c", "4294967296"])
    func invalid(text: String) { #expect(LeaseRecord(Array(text.utf8)) == nil) }

    @Test(
        "of any number of collectors that take the lease from each other, each later one has a higher token",
        arguments: 1...50)
    func contention(seed: UInt64) {
        var random = SeededGenerator(seed)
        var broker = ExclusiveBroker()
        for _ in 0..<400 { broker.step(&random) }
        #expect(broker.granted.count > 5)
        for (earlier, later) in zip(broker.granted, broker.granted.dropFirst()) {
            #expect(earlier.token < later.token, "seed \(seed)")
        }
    }

    private func token(_ value: UInt32) -> FencingToken { FencingToken(rawValue: value) }
}

/// A broker with one client id, and collectors that connect with it at any time and handle messages late.
private struct ExclusiveBroker {
    private struct Client {
        var claim: LeaseClaim
        /// What the broker has sent and the collector has not handled yet.
        var inbox: [Message]
        /// What the collector has sent and the broker has not handled yet.
        var outbox: [LeaseRecord?]
    }
    private enum Message {
        case subscribed
        case record(LeaseRecord)
        case confirmed(LeaseRecord)
    }

    private var clients: [Client] = []
    /// The client whose connection is open.
    private var current: Int?
    private var retained: LeaseRecord?
    /// The tokens in the order of connects of those that held the lease.
    private var grants: [Int: FencingToken] = [:]

    var granted: [(client: Int, token: FencingToken)] { grants.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    mutating func step(_ random: inout SeededGenerator) {
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            // The clocks of the collectors differ.
            let owner = LeaseOwner(collector: CollectorID(unchecked: "c"), claim: UInt64(clients.count))
            let floor = UInt32.random(in: 1...200, using: &random)
            clients.append(Client(claim: LeaseClaim(owner, floor: floor), inbox: [], outbox: [nil]))
            current = clients.count - 1
        case 1...5:
            // The broker handles what the connected client has sent. Nothing else reaches it.
            guard let current, !clients[current].outbox.isEmpty else { return }
            guard let record = clients[current].outbox.removeFirst() else {
                clients[current].inbox += [.subscribed] + (retained.map { [.record($0)] } ?? [])
                return
            }
            retained = record
            clients[current].inbox +=
                Bool.random(using: &random)
                ? [.record(record), .confirmed(record)] : [.confirmed(record), .record(record)]
        default:
            guard let index = clients.indices.randomElement(using: &random), !clients[index].inbox.isEmpty else {
                return
            }
            switch clients[index].inbox.removeFirst() {
            case .subscribed: if let record = clients[index].claim.subscribed() { clients[index].outbox.append(record) }
            case .record(let record):
                if let next = clients[index].claim.received(record) { clients[index].outbox.append(next) }
            case .confirmed(let record): clients[index].claim.confirmed(record)
            }
            if let token = clients[index].claim.token { grants[index] = token }
        }
    }
}

private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) ^ (state << 31)
    }
}
