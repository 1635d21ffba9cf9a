import LockstepModel
import Testing

@testable import LockstepCollector

@Suite("Claim of a lease")
struct LeaseClaimTests {
    private let mine = LeaseOwner(collector: CollectorID(unchecked: "a"), claim: 1)
    private let other = LeaseOwner(collector: CollectorID(unchecked: "b"), claim: 2)

    @Test("a claim is published after the probe has returned, and holds when the broker has confirmed it")
    func held() throws {
        var claim = LeaseClaim(mine, floor: 100)
        expectNothing(claim.returned(mine))
        let isProbing = claim.subscribed()
        #expect(isProbing)
        expectNothing(claim.returned(other))
        let record = claim.returned(mine)
        #expect(record == LeaseRecord(token: token(100), owner: mine))
        #expect(claim.token == nil)
        claim.received(LeaseRecord(token: token(100), owner: mine))
        #expect(claim.token == nil)
        claim.confirmed(LeaseRecord(token: token(100), owner: mine))
        #expect(claim.token == token(100))
    }

    @Test("a claim has a higher token than the earlier one, also if the clock was set back or the share is free")
    func higher() throws {
        for owner in [other, nil] {
            var claim = LeaseClaim(mine, floor: 100)
            _ = claim.subscribed()
            let earlier = try #require(LeaseRecord(LeaseRecord(token: token(500), owner: owner).payload))
            claim.received(earlier)
            let record = claim.returned(mine)
            #expect(record?.token == token(501))
        }
    }

    @Test("nothing is published if no higher token exists")
    func exhausted() throws {
        var claim = LeaseClaim(mine, floor: 100)
        _ = claim.subscribed()
        claim.received(LeaseRecord(token: token(.max), owner: other))
        expectNothing(claim.returned(mine))
        #expect(claim.phase == .exhausted && claim.published == nil)
    }

    @Test("a lease is lost when another collector claims it, but not by a renewal")
    func lost() throws {
        var claim = LeaseClaim(mine, floor: 100)
        _ = claim.subscribed()
        let published = claim.returned(mine)
        let record = try #require(published)
        claim.confirmed(record)
        claim.received(record)
        #expect(claim.token == token(100))
        claim.received(LeaseRecord(token: token(101), owner: other))
        #expect(claim.phase == .lost && claim.token == nil)
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
        for _ in 0..<1500 { broker.step(&random) }
        #expect(broker.granted.count > 5)
        for (earlier, later) in zip(broker.granted, broker.granted.dropFirst()) {
            #expect(earlier.token < later.token, "seed \(seed)")
        }
    }

    private func expectNothing(_ record: LeaseRecord?, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(record == nil, sourceLocation: sourceLocation)
    }

    private func token(_ value: UInt32) -> FencingToken { FencingToken(rawValue: value) }
}

/// A broker with one client id, and collectors that connect with it at any time and handle messages late.
private struct ExclusiveBroker {
    private struct Client {
        var claim: LeaseClaim
        /// What the broker has sent and the collector has not handled yet.
        var inbox: [FromBroker] = []
        /// What the collector has sent and the broker has not handled yet.
        var outbox: [ToBroker] = [.subscribe]
    }
    private enum ToBroker { case subscribe, probe, record(LeaseRecord) }
    private enum FromBroker { case subscribed, returned(LeaseOwner), record(LeaseRecord), confirmed(LeaseRecord) }

    private var clients: [Client] = []
    /// The client whose connection is open.
    private var current: Int?
    private var retained: LeaseRecord?
    /// The tokens in the order of connects of those that held the lease.
    private var grants: [Int: FencingToken] = [:]

    var granted: [(client: Int, token: FencingToken)] { grants.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    mutating func step(_ random: inout SeededGenerator) {
        switch Int.random(in: 0..<30, using: &random) {
        case 0:
            // The clocks of the collectors differ.
            let owner = LeaseOwner(collector: CollectorID(unchecked: "c"), claim: UInt64(clients.count))
            clients.append(Client(claim: LeaseClaim(owner, floor: .random(in: 1...200, using: &random))))
            current = clients.count - 1
        case 1...15: if let current { receive(from: current, &random) }
        default:
            if let index = clients.indices.suffix(4).randomElement(using: &random), !clients[index].inbox.isEmpty {
                handle(clients[index].inbox.removeFirst(), in: index)
            }
        }
    }

    /// The broker handles what the connected client has sent. Nothing else reaches it.
    private mutating func receive(from index: Int, _ random: inout SeededGenerator) {
        guard !clients[index].outbox.isEmpty else { return }
        switch clients[index].outbox.removeFirst() {
        case .subscribe: clients[index].inbox += [.subscribed] + (retained.map { [.record($0)] } ?? [])
        case .probe: clients[index].inbox.append(.returned(clients[index].claim.owner))
        case .record(let record):
            retained = record
            clients[index].inbox +=
                Bool.random(using: &random)
                ? [.record(record), .confirmed(record)] : [.confirmed(record), .record(record)]
        }
    }

    private mutating func handle(_ message: FromBroker, in index: Int) {
        switch message {
        case .subscribed: if clients[index].claim.subscribed() { clients[index].outbox.append(.probe) }
        case .returned(let owner):
            if let record = clients[index].claim.returned(owner) { clients[index].outbox.append(.record(record)) }
        case .record(let record): clients[index].claim.received(record)
        case .confirmed(let record): clients[index].claim.confirmed(record)
        }
        if let token = clients[index].claim.token { grants[index] = token }
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
