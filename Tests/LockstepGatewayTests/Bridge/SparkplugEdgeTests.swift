import LockstepMQTT
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepGateway

/// An edge node, and what it has published.
private struct Edge {
    static let now = Timestamp(microseconds: 1_795_575_600_000_000)
    var devices: SparkplugEdgeDevices
    private var seq: Int64 = 0

    init() throws {
        let node = try #require(SparkplugNode("plant/gateway"))
        devices = SparkplugEdgeDevices(
            SparkplugEdgeConfiguration(
                broker: BrokerAddress(host: "localhost", port: 1883), clientID: "c", node: node), deathNumber: 254)
    }

    /// Connects, and returns the will.
    mutating func connect() -> SparkplugEdgeDevices.Message {
        let will = devices.startSession()
        devices.bear(at: Self.now)
        return will
    }

    mutating func receive(_ topic: String, _ payload: [UInt8]) throws {
        try payload.withUnsafeBytes {
            try devices.handle(topic: topic, payload: $0, contentType: nil, at: Self.now)
        }
    }

    mutating func receive(_ block: SampleBlock, from device: String = "a", isLive: Bool = true) throws {
        seq += 1
        let position = BatchPosition(epoch: Epoch(unchecked: "72fb8639bfae3695"), seq: seq)
        let batch = Batch(position: position, isLive: isLive, samples: block)
        try receive("lockstep/site/\(device)/\(block.stream.name)", BatchEncoding.json.encode(batch))
    }

    mutating func receive(_ phase: Phase, from device: String = "a") throws {
        try receive(
            "lockstep/site/\(device)/presence",
            PresenceJSON.encode(Presence(epoch: nil, session: 1, phase: phase, at: nil)))
    }

    /// Returns the published messages as text: type, device and number.
    mutating func take() throws -> (texts: [String], payloads: [SparkplugPayload]) {
        let messages = devices.takeMessages(at: Self.now)
        let payloads = try messages.map { try SparkplugPayload(decoding: $0.payload) }
        let texts = zip(messages, payloads).map { message, payload in
            "\(message.topic.type.rawValue) \(message.topic.device ?? "-") \(payload.number.map(String.init) ?? "-")"
        }
        return (texts, payloads)
    }
}

private func pressure(_ count: Int, from start: Int64 = 1_795_575_600_000_500) -> SampleBlock {
    SampleBlock(
        stream: .pressure, times: (0..<count).map { start + Int64($0) * 1000 },
        columns: [(0..<count).map { Double(1000 + $0) }])
}

@Suite("Sparkplug B edge node")
struct SparkplugEdgeTests {
    @Test("each connection has a new bdSeq, which its births and deaths share")
    func sessions() throws {
        var edge = try Edge()
        for expected in [255, 0, 1] as [Int64] {
            let will = try SparkplugPayload(decoding: edge.connect().payload)
            let birth = try edge.take()
            #expect(birth.texts == ["NBIRTH - 0"])
            #expect(will.deathNumber == expected)
            #expect(will.metrics.count == 1)
            #expect(will.number == nil)
            #expect(birth.payloads[0].deathNumber == expected)
            #expect(
                birth.payloads[0].metrics.contains { $0.name == "Node Control/Rebirth" && $0.value == .truth(false) })
        }
    }

    @Test("a device is born with its first batch and with each new stream, with aliases that are unique in the node")
    func births() throws {
        var edge = try Edge()
        _ = edge.connect()
        try edge.receive(.foreground)
        try edge.receive(pressure(2))
        try edge.receive(pressure(1), from: "b")
        try edge.receive(SampleBlock(stream: .battery, times: [1000], columns: [[0.5], [1]]))
        let (texts, payloads) = try edge.take()
        #expect(
            texts == [
                "NBIRTH - 0", "DBIRTH site:a 1", "DDATA site:a 2", "DBIRTH site:b 3", "DDATA site:b 4",
                "DBIRTH site:a 5", "DDATA site:a 6",
            ])
        let names = payloads[5].metrics.compactMap(\.name)
        #expect(names == ["pressure/pressure", "battery/level", "battery/state"])
        let aliases = payloads[3].metrics.compactMap(\.alias) + payloads[5].metrics.compactMap(\.alias)
        #expect(Set(aliases).count == 4)
        #expect(payloads[1].metrics.first?.value == .real(1001))
        #expect(payloads[2].metrics.map(\.time) == [1_795_575_600_000, 1_795_575_600_001])
        #expect(payloads[2].metrics.allSatisfy { $0.name == nil && $0.alias == payloads[1].metrics[0].alias })
        #expect(
            payloads[6].metrics.map(\.value) == [
                .real(0.5), .text(SensorStream.battery.columns[1].kind.words?[1] ?? ""),
            ])
    }

    @Test("a birth has the newest values, also after a live batch with older ones")
    func newest() throws {
        var edge = try Edge()
        _ = edge.connect()
        try edge.receive(pressure(2))
        try edge.receive(pressure(1))
        _ = edge.connect()
        let (texts, payloads) = try edge.take()
        let index = try #require(texts.firstIndex { $0.hasPrefix("DBIRTH") })
        #expect(payloads[index].metrics.map(\.value) == [.real(1001)])
        #expect(payloads[index].metrics.map(\.time) == [1_795_575_600_001])
    }

    @Test("late batches are historical and do not become the values of a birth; numbers go from 255 to 0")
    func historical() throws {
        var edge = try Edge()
        _ = edge.connect()
        try edge.receive(pressure(1), isLive: false)
        let (_, payloads) = try edge.take()
        #expect(payloads[1].metrics.map(\.value) == [nil])
        #expect(payloads[2].metrics.map(\.isHistorical) == [true])
        for _ in 3..<260 { try edge.receive(pressure(1)) }
        let numbers = try edge.take().payloads.compactMap(\.number)
        #expect(numbers == (3..<260).map { UInt8($0 & 0xff) })
    }

    @Test("a large batch is divided")
    func large() throws {
        var edge = try Edge()
        _ = edge.connect()
        try edge.receive(pressure(4500))
        let (texts, payloads) = try edge.take()
        #expect(texts.count == 5)
        #expect(payloads.dropFirst(2).map(\.metrics.count) == [2000, 2000, 500])
        #expect(payloads[4].metrics.last?.value == .real(5499))
    }

    @Test("a device dies with its connection, its end or its deletion, and is born again when it returns")
    func deaths() throws {
        var edge = try Edge()
        _ = edge.connect()
        try edge.receive(.foreground)
        try edge.receive(pressure(1))
        _ = try edge.take()
        try edge.receive(.lost)
        try edge.receive(.lost)
        try edge.receive(.foreground)
        try edge.receive(.background)
        try edge.receive(.terminated)
        try edge.receive(.foreground)
        try edge.receive("lockstep/site/a/presence", [])
        let (texts, payloads) = try edge.take()
        #expect(
            texts.map { String($0.prefix(6)) } == ["DDEATH", "DBIRTH", "DDEATH", "DBIRTH", "DDEATH"])
        #expect(payloads[1].metrics.first?.value == .real(1000))
        #expect(edge.devices.count == 0)
    }

    @Test("many requests for births are answered once, and anything else is ignored")
    func rebirth() throws {
        var edge = try Edge()
        _ = edge.connect()
        try edge.receive(pressure(1))
        _ = try edge.take()
        let topic = "spBv1.0/plant/NCMD/gateway"
        #expect(throws: SparkplugError.self) { try edge.receive(topic, [0xff]) }
        try edge.receive(topic, SparkplugPayload(metrics: [.rebirth(false, time: 1)]).encoded())
        #expect(try edge.take().texts.isEmpty)
        for _ in 0..<3 { try edge.receive(topic, SparkplugPayload(metrics: [.rebirth(true, time: 1)]).encoded()) }
        try edge.receive(pressure(1))
        #expect(try edge.take().texts == ["DDATA site:a 3", "NBIRTH - 0", "DBIRTH site:a 1"])
    }
}
