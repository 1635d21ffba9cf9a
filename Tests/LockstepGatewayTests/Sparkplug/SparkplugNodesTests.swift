import LockstepModel
import Testing

@testable import LockstepGateway

/// What messages have added.
struct SparkplugOutcome {
    var translation = Translation()
    var finding: SparkplugNodes.Finding?

    /// - Throws: the refusal of a message.
    init(_ outputs: [SparkplugNodes.Output]) throws {
        for output in outputs {
            finding = finding ?? output.finding
            translation.reports += try output.result.get().reports
        }
    }

    var readings: [Reading] { translation.reports.flatMap(\.readings) }
}

@Suite("Sparkplug B host application")
struct SparkplugNodesTests {
    @Test("births give samples, converted by the settings, and the node itself is no device without a column")
    func births() throws {
        var node = try Node()
        #expect(try node.send(.nodeBirth, 0, [.deathNumber(1)]).translation.reports.allSatisfy { $0.presence == nil })
        let outcome = try node.send(
            .deviceBirth, 1,
            [
                SparkplugMetric(name: "T", time: 5, kind: .double, value: .real(10)),
                SparkplugMetric(name: "location/lat", time: 6, kind: .double, value: .real(50)),
                SparkplugMetric(name: "location/lon", time: 6, kind: .double, value: .real(8)),
                SparkplugMetric(name: "Motor 1/Speed", time: 7, kind: .double, value: .real(9)),
            ])
        let report = try #require(outcome.translation.reports.first)
        #expect(report.sender.description == "sparkplug/plant/line1/oven")
        #expect(report.presence == ForeignPresence(.foreground, reason: "dbirth"))
        #expect(report.writtenAt == Timestamp(microseconds: 1_795_575_600_000_000))
        #expect(
            report.readings == [
                Reading("x/room", at: 5000, [("temperature", .number(6))]),
                Reading("location", at: 6000, [("lat", .number(50)), ("lon", .number(8))]),
                Reading("x/sparkplug/motor_1/speed", at: 7000, [("value", .number(9))]),
            ])
    }

    @Test("data has the last values of the columns that have not changed, until they are null")
    func reportByException() throws {
        var node = try Node()
        try node.bear()
        let changed = try node.send(.deviceData, 2, [temperature(20, at: 2)])
        #expect(
            changed.readings == [
                Reading(
                    "x/room", at: 2000,
                    [("temperature", .number(11)), ("humidity", .number(-1)), ("mode", .word("on"))])
            ])
        let null = try node.send(.deviceData, 3, [SparkplugMetric(alias: 2, time: 3, value: nil)])
        #expect(
            null.readings == [Reading("x/room", at: 3000, [("temperature", .number(11)), ("mode", .word("on"))])])
        // Several values of one metric, in any order, and one without a time of its own.
        let many = try node.send(
            .deviceData, 4,
            [
                temperature(40, at: 40), temperature(30, at: 30),
                SparkplugMetric(alias: 3, time: 35, value: .text("off")), temperature(41, at: 40),
                SparkplugMetric(alias: 5, value: .real(1)),
            ])
        let rooms = many.readings.filter { $0.stream == "x/room" }
        #expect(rooms.map(\.time) == [30_000, 35_000, 40_000, 40_000])
        #expect(rooms.map { $0.number("temperature") } == [16, 16, 21, 21.5])
        #expect(rooms.map { $0.word("mode") } == ["on", "off", "off", "off"])
        #expect(many.readings.contains { $0.stream != "x/room" && $0.time == 1_795_575_600_000_000 })
    }

    @Test("a node is reported once if none of its metrics and those of its devices has a column")
    func unmapped() throws {
        var node = try Node()
        let other = SparkplugMetric(name: "other", time: 5, kind: .double, value: .real(1))
        func born() throws -> [SparkplugNode] {
            try node.send(.nodeBirth, 0, [.deathNumber(1), other])
            try node.send(.deviceBirth, 1, [other])
            _ = node.nodes.takeLostDevices(at: node.boot + 9_000_000)
            #expect(node.nodes.takeUnmapped().isEmpty, "other devices may follow")
            _ = node.nodes.takeLostDevices(at: node.boot + 10_000_000)
            return node.nodes.takeUnmapped()
        }
        #expect(try born().map(\.description) == ["plant/line1"] && node.nodes.unmapped.count == 1)
        #expect(try born().isEmpty, "it was reported")
        try node.bear()
        #expect(node.nodes.unmapped.isEmpty)
        _ = node.nodes.takeLostDevices(at: node.boot + 10_000_000)
        #expect(node.nodes.takeUnmapped().isEmpty && node.nodes.unmapped.isEmpty)
    }

    @Test("historical values are late, and do not become the current ones")
    func historical() throws {
        var node = try Node()
        try node.bear()
        let old = try node.send(
            .deviceData, 2,
            [temperature(100, at: 1, isHistorical: true), SparkplugMetric(alias: 2, time: 9, value: .whole(5))])
        try #require(old.translation.reports.map(\.isLate) == [true, nil])
        #expect(
            old.translation.reports[0].readings == [
                Reading(
                    "x/room", at: 1000,
                    [("temperature", .number(51)), ("humidity", .number(-1)), ("mode", .word("on"))])
            ])
        #expect(old.translation.reports[1].readings.first?.number("temperature") == 6)
    }

    @Test("a gap of the numbers keeps the samples, and asks for births once in ten seconds until they arrive")
    func gaps() throws {
        var node = try Node()
        try node.bear()
        #expect(node.nodes.takeRebirths(at: 0).isEmpty)
        #expect(try node.send(.deviceData, 2, [temperature(1, at: 2)]).finding == nil)
        let gap = try node.send(.deviceData, 5, [temperature(2, at: 3)])
        #expect(gap.finding == .missing(2))
        #expect(gap.readings.count == 1)
        let name = try #require(SparkplugNode("plant/line1"))
        #expect(node.nodes.takeRebirths(at: 0) == [name])
        #expect(node.nodes.takeRebirths(at: SparkplugNodes.rebirthInterval - 1).isEmpty)
        #expect(node.nodes.takeRebirths(at: SparkplugNodes.rebirthInterval) == [name])
        try node.bear()
        // A repeated message.
        try node.send(.deviceData, 2, [temperature(1, at: 2)])
        #expect(try node.send(.deviceData, 2, [temperature(1, at: 2)]).finding == nil)
        #expect(node.nodes.takeRebirths(at: 10 * SparkplugNodes.rebirthInterval).isEmpty)
        for number in 2...600 {
            let outcome = try node.send(.deviceData, UInt8(number & 0xff), [temperature(1, at: Int64(number))])
            #expect(outcome.finding == nil)
        }
    }

    @Test("a node that never answers is not asked for ever")
    func noAnswer() throws {
        var node = try Node()
        #expect(throws: Refusal.self) { try node.send(.deviceData, 7, [temperature(1, at: 1)]) }
        var requests = 0
        for turn in 0..<100 {
            requests += node.nodes.takeRebirths(at: Int64(turn) * SparkplugNodes.rebirthInterval).count
        }
        #expect(requests == SparkplugNodes.maxRequests)
        #expect(node.nodes.count == 0)
    }

    @Test("a node with a gap that never answers keeps its devices, and is asked again after the next gap")
    func noAnswerAfterGap() throws {
        var node = try Node()
        try node.bear()
        var number: UInt8 = 1
        for series in 0..<2 as Range<Int64> {
            number += 2
            #expect(try node.send(.deviceData, number, [temperature(1, at: 2)]).finding == .missing(1))
            var requests = 0
            for turn in 0..<100 as Range<Int64> {
                requests += node.nodes.takeRebirths(at: (series * 100 + turn) * SparkplugNodes.rebirthInterval).count
            }
            #expect(requests == SparkplugNodes.maxRequests)
            number += 1
            #expect(try node.send(.deviceData, number, [temperature(1, at: Int64(number))]).readings.count == 1)
            #expect(node.nodes.takeRebirths(at: (series + 1) * 100 * SparkplugNodes.rebirthInterval - 1).isEmpty)
        }
    }

    @Test("data without a birth is refused and asks for it; a birth of the device alone is used")
    func unknown() throws {
        var node = try Node()
        let refusal = #expect(throws: Refusal.self) { try node.send(.deviceData, 7, [temperature(1, at: 1)]) }
        #expect(refusal?.kind == .unknownSender)
        #expect(node.nodes.takeRebirths(at: 0).count == 1)
        let birth = try node.send(
            .deviceBirth, 8, [SparkplugMetric(name: "T", alias: 1, time: 1, kind: .double, value: .real(10))])
        #expect(birth.finding == .unknown)
        #expect(try node.send(.deviceData, 9, [temperature(3, at: 2)]).readings.count == 1)
        // An alias that no birth has given.
        try node.bear()
        #expect(throws: Refusal.self) {
            try node.send(.deviceData, 2, [SparkplugMetric(alias: 99, time: 1, value: .real(1))])
        }
        #expect(node.nodes.takeRebirths(at: SparkplugNodes.rebirthInterval).count == 1)
    }

    @Test("data of a device between the birth of its node and its own is refused, and asks for births")
    func beforeDeviceBirth() throws {
        var node = try Node()
        try node.bear()
        try node.send(.nodeBirth, 0, [.deathNumber(5)])
        let refusal = #expect(throws: Refusal.self) { try node.send(.deviceData, 1, [temperature(1, at: 2)]) }
        #expect(refusal?.kind == .unknownSender)
        #expect(node.nodes.takeRebirths(at: 0).count == 1)
        // The same alias has another meaning from then on.
        try node.send(
            .deviceBirth, 2, [SparkplugMetric(name: "H", alias: 1, time: 3, kind: .double, value: .real(10))])
        let data = try node.send(.deviceData, 3, [temperature(20, at: 4)])
        #expect(data.readings == [Reading("x/room", at: 4000, [("humidity", .number(20))])])
    }

    @Test("only the death of the current birth counts, and then all devices are lost")
    func deaths() throws {
        var node = try Node()
        try node.bear(4)
        // The broker publishes the will of an earlier connection late.
        #expect(try node.send(.nodeDeath, nil, [.deathNumber(3)], time: nil).translation.reports.isEmpty)
        #expect(throws: Refusal.self) { try node.send(.nodeDeath, nil, []) }
        try node.send(.deviceBirth, 2, [], device: "fan")
        let device = try node.send(.deviceDeath, 3, [], device: "fan")
        #expect(device.translation.reports.map(\.presence) == [ForeignPresence(.lost, reason: "ddeath")])
        let death = try node.send(.nodeDeath, nil, [.deathNumber(4)], time: nil)
        #expect(death.translation.reports.map(\.sender.description) == ["sparkplug/plant/line1/oven"])
        #expect(death.translation.reports.map(\.presence) == [ForeignPresence(.lost, reason: "ndeath")])
        #expect(node.nodes.count == 0)
        #expect(throws: Refusal.self) { try node.send(.deviceData, 4, [temperature(1, at: 1)]) }
    }

    @Test("templates, data sets, arrays and values of another type are left out with a reason, the others are kept")
    func leftOut() throws {
        var node = try Node()
        try node.send(.nodeBirth, 0, [.deathNumber(1)])
        let outcome = try node.send(
            .deviceBirth, 1,
            [
                SparkplugMetric(name: "T", time: 1, kind: .double, value: .real(1)),
                SparkplugMetric(name: "H", time: 1, kind: SparkplugKind(rawValue: 30), value: .text("x")),
                SparkplugMetric(name: "M", time: 1, kind: .double, value: .text("x")),
                SparkplugMetric(name: "location/lat", time: .max, kind: .double, value: .real(1)),
                SparkplugMetric(name: "location/lon", time: 1, value: .real(1)),
                SparkplugMetric(value: .real(1)),
            ])
        #expect(outcome.readings.map(\.stream) == ["x/room"])
        let omissions = try #require(outcome.translation.reports.last?.omissions)
        #expect(omissions.count == 5)
        for text in ["FloatArray", "not of its type Double", "out of range", "no data type", "without a name"] {
            #expect(omissions.contains { $0.contains(text) }, "\(text): \(omissions)")
        }
    }

    @Test(
        "the most metrics that a message can have, and as many times, take a time that does not grow with the square",
        .timeLimit(.minutes(2)), arguments: [true, false])
    func many(areMapped: Bool) {
        let room = SparkplugTarget(stream: "x/room", column: "temperature")
        let names = (0..<SparkplugPayload.maxMetrics - 1).map { "m\($0)" }
        var entries = ["T": room]
        if areMapped { for name in names { entries[name] = room } }
        let birth = (["T"] + names).map { SparkplugMetric(name: $0, time: 1, kind: .double, value: .real(-1)) }
        var source = SparkplugSource(birth, targets: SparkplugTargets(entries))
        #expect(read(birth, &source, isBirth: true).count == 1)
        let data = birth.indices.map { SparkplugMetric(name: "T", time: Int64($0) + 1, value: .real(Double($0))) }
        let readings = read(data, &source)
        #expect(readings.count == data.count)
        #expect(readings.last == Reading("x/room", at: 50_000_000, [("temperature", .number(49_999))]))
        let sameTime = birth.indices.map { SparkplugMetric(name: "T", time: 60_000, value: .real(Double($0))) }
        #expect(read(sameTime, &source).count == sameTime.count)
    }

    private func read(
        _ metrics: [SparkplugMetric], _ source: inout SparkplugSource, isBirth: Bool = false
    ) -> [Reading] {
        let moment = Moment(wall: receipt, boot: 0, awake: 0)
        _ = source.read(SparkplugPayload(metrics: metrics), isBirth: isBirth, at: moment)
        return source.release(at: 0, all: true).map(\.reading)
    }

    @Test("of two metrics with the same column, the newer value counts")
    func sameColumn() {
        let room = SparkplugTarget(stream: "x/room", column: "temperature")
        let birth = ["a", "b"].map { SparkplugMetric(name: $0, time: 1, kind: .double, value: .real(1)) }
        var source = SparkplugSource(birth, targets: SparkplugTargets(["a": room, "b": room]))
        _ = read(birth, &source, isBirth: true)
        for (index, name) in ["b", "a", "b"].enumerated() {
            let value = Double(index + 2)
            let data = read([SparkplugMetric(name: name, time: 2, value: .real(value))], &source)
            #expect(data == [Reading("x/room", at: 2000, [("temperature", .number(value))])])
        }
    }

    @Test("the numbers of nodes and metrics are limited")
    func limits() throws {
        var node = try Node(SparkplugNodes.Limits(nodes: 1, metrics: 7))
        try node.bear()
        #expect(throws: Refusal.self) { try node.send(.deviceBirth, 2, [], device: "fan") }
        // A birth again replaces the metrics.
        try node.bear()
        let other = try #require(SparkplugNode("plant/line2"))
        #expect(throws: Refusal.self) {
            try SparkplugOutcome(
                node.nodes.handle(
                    SparkplugTopic(.nodeBirth, other), SparkplugPayload(metrics: [.deathNumber(1)]).encoded(),
                    at: Moment(wall: receipt, boot: 0, awake: 0)))
        }
    }
}

extension SparkplugNodesTests {
    /// A node, and the messages that it sends.
    struct Node {
        var nodes: SparkplugNodes
        var boot: Int64 = 1_000_000
        private let name = SparkplugNode("plant/line1")

        init(_ limits: SparkplugNodes.Limits = .init()) throws {
            let room = try SensorStream(
                declaring: "x/room",
                columns: [
                    SensorStream.Column(declaring: "temperature", kind: .real, isRequired: true),
                    SensorStream.Column(declaring: "humidity", kind: .real, isRequired: false),
                    SensorStream.Column(declaring: "mode", kind: .choice(["on", "off"]), isRequired: false),
                ])
            let speed = try SensorStream(
                declaring: "x/sparkplug/motor_1/speed",
                columns: [SensorStream.Column(declaring: "value", kind: .real, isRequired: true)])
            let targets = SparkplugTargets(
                [
                    "T": SparkplugTarget(stream: "x/room", column: "temperature", factor: 0.5, offset: 1),
                    "H": SparkplugTarget(stream: "x/room", column: "humidity"),
                    "M": SparkplugTarget(stream: "x/room", column: "mode"),
                ], catalog: try StreamCatalog(declared: [room, speed]))
            nodes = SparkplugNodes(targets, limits: limits)
        }

        /// Sends a message, and waits until nothing waits any longer.
        @discardableResult
        mutating func send(
            _ type: SparkplugTopic.MessageType, _ number: UInt8?, _ metrics: [SparkplugMetric], device: String? = nil,
            time: Int64? = 1_795_575_600_000
        ) throws -> SparkplugOutcome {
            let outputs = try pass(type, number, metrics, device: device, time: time)
            return try SparkplugOutcome(outputs + nodes.release(at: moment(), all: true))
        }

        /// Sends a message. What it adds may wait.
        mutating func pass(
            _ type: SparkplugTopic.MessageType, _ number: UInt8?, _ metrics: [SparkplugMetric], device: String? = nil,
            time: Int64? = 1_795_575_600_000
        ) throws -> [SparkplugNodes.Output] {
            let topic = SparkplugTopic(type, try #require(name), device: type.hasDevice ? device ?? "oven" : nil)
            return nodes.handle(
                topic, SparkplugPayload(time: time, metrics: metrics, number: number).encoded(), at: moment())
        }

        /// Returns what has waited for this time in µs.
        mutating func wait(_ time: Int64) throws -> SparkplugOutcome {
            boot += time
            return try SparkplugOutcome(nodes.release(at: moment()))
        }

        private func moment() -> Moment { Moment(wall: receipt, boot: boot, awake: boot) }

        /// Sends the births of the node and its device.
        mutating func bear(_ deathNumber: Int64 = 4) throws {
            try send(.nodeBirth, 0, [.deathNumber(deathNumber)])
            try send(
                .deviceBirth, 1,
                [
                    SparkplugMetric(name: "T", alias: 1, time: 1, kind: .double, value: .real(10)),
                    SparkplugMetric(
                        name: "H", alias: 2, time: 1, kind: SparkplugKind(rawValue: 1), value: .whole(0xff)),
                    SparkplugMetric(name: "M", alias: 3, time: 1, kind: .string, value: .text("on")),
                    SparkplugMetric(name: "unmapped", alias: 4, time: 1, kind: .double, value: .real(1)),
                    SparkplugMetric(name: "Motor 1/Speed", alias: 5, time: 1, kind: .double, value: nil),
                ])
        }
    }

    func temperature(_ value: Double, at time: Int64, isHistorical: Bool = false) -> SparkplugMetric {
        SparkplugMetric(alias: 1, time: time, isHistorical: isHistorical, value: .real(value))
    }
}
