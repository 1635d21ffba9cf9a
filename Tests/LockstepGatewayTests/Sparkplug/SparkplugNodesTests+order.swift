import LockstepModel
import Testing

@testable import LockstepGateway

// Messages and values that do not arrive in the order of their times and numbers.
extension SparkplugNodesTests {
    private func humidity(_ value: UInt64, at time: Int64, isHistorical: Bool = false) -> SparkplugMetric {
        SparkplugMetric(alias: 2, time: time, isHistorical: isHistorical, value: .whole(value))
    }

    private func rooms(_ outcome: SparkplugOutcome) -> [[Double?]] {
        outcome.readings.filter { $0.stream == "x/room" }
            .sorted { $0.time < $1.time }
            .map { [Double($0.time / 1000), $0.number("temperature"), $0.number("humidity")] }
    }

    @Test("values of one time in several messages are one sample, which waits a second for them")
    func sameTime() throws {
        var node = try Node()
        try node.bear()
        #expect(try SparkplugOutcome(node.pass(.deviceData, 2, [temperature(20, at: 10)])).readings.isEmpty)
        #expect(try node.wait(SparkplugTimeline.hold - 1).readings.isEmpty)
        #expect(try SparkplugOutcome(node.pass(.deviceData, 3, [humidity(40, at: 10)])).readings.isEmpty)
        #expect(try rooms(node.wait(1)) == [[10, 11, 40]])
        // With all columns, it does not wait.
        let whole = try SparkplugOutcome(
            node.pass(
                .deviceData, 4,
                [
                    temperature(22, at: 20), humidity(41, at: 20),
                    SparkplugMetric(alias: 3, time: 20, value: .text("off")),
                ]
            ))
        #expect(rooms(whole) == [[20, 12, 41]])
        // The death does not lose what waits.
        _ = try node.pass(.deviceData, 5, [temperature(24, at: 30)])
        let death = try SparkplugOutcome(node.pass(.nodeDeath, nil, [.deathNumber(4)], time: nil))
        #expect(rooms(death) == [[30, 13, 41]])
        #expect(death.translation.reports.last?.presence == ForeignPresence(.lost, reason: "ndeath"))
    }

    @Test("if values arrive later than samples wait for them, the next samples wait longer")
    func lateColumns() throws {
        var node = try Node()
        try node.bear()
        let late = 2 * SparkplugTimeline.hold
        _ = try node.pass(.deviceData, 2, [temperature(20, at: 10)])
        #expect(try rooms(node.wait(late)) == [[10, 11, -1]])
        #expect(try rooms(node.send(.deviceData, 3, [humidity(40, at: 10)])) == [[10, 11, 40]])
        for (number, time) in [(4, 20), (6, 30)] as [(UInt8, Int64)] {
            _ = try node.pass(.deviceData, number, [temperature(22, at: time)])
            #expect(try node.wait(late).readings.isEmpty)
            _ = try node.pass(.deviceData, number + 1, [humidity(41, at: time)])
            #expect(try rooms(node.wait(late)) == [[Double(time), 12, 41]])
        }
    }

    @Test("the columns of a history may arrive in messages of their own")
    func historyOfColumns() throws {
        var node = try Node()
        try node.bear()
        _ = try node.pass(.deviceData, 2, (10...14).map { temperature(Double(2 * $0), at: $0, isHistorical: true) })
        #expect(try node.wait(1_500_000).readings.isEmpty)
        _ = try node.pass(.deviceData, 3, (10...14).map { humidity(UInt64($0), at: $0, isHistorical: true) })
        let rows = try rooms(node.wait(SparkplugTimeline.longestHold))
        #expect(rows == [[10, 11, 10], [11, 12, 11], [12, 13, 12], [13, 14, 13], [14, 15, 14]])
    }

    @Test("a time in another unit is left out with advice, and a node whose clock is ahead is judged by the gateway")
    func times() throws {
        var node = try Node()
        try node.bear()
        let refusal = #expect(throws: Refusal.self) {
            try node.send(.deviceData, 2, [temperature(1, at: 1_795_575_600)])
        }
        #expect(
            refusal?.description
                == "the time of the metric 'T' is 1795575600, which is no plausible time in ms, but one in s")
        let future: Int64 = 1_795_575_600_000 + 3 * 86_400_000
        #expect(throws: Refusal.self) { try node.send(.deviceData, 3, [temperature(1, at: future)]) }
        #expect(try node.send(.deviceData, 4, [temperature(1, at: future)], time: future).readings.count == 1)
    }

    @Test("a sample has the values of its own time, also if newer ones arrive before it")
    func lateValue() throws {
        var node = try Node()
        try node.bear()
        #expect(try rooms(node.send(.deviceData, 2, [temperature(20, at: 10)])) == [[10, 11, -1]])
        #expect(try rooms(node.send(.deviceData, 3, [humidity(40, at: 5)])) == [[5, 6, 40]])
        #expect(try rooms(node.send(.deviceData, 4, [temperature(22, at: 20)])) == [[20, 12, 40]])
    }

    @Test("a repeated birth adds nothing, also after a reconnect; after a restart it adds the newest sample again")
    func rebirth() throws {
        func births(_ node: inout Node, temperature: Double, at time: Int64) throws -> SparkplugOutcome {
            try node.send(.nodeBirth, 0, [.deathNumber(4)])
            return try node.send(
                .deviceBirth, 1,
                [
                    SparkplugMetric(name: "T", alias: 1, time: time, kind: .double, value: .real(temperature)),
                    SparkplugMetric(
                        name: "H", alias: 2, time: 20, kind: SparkplugKind(rawValue: 1), value: .whole(40)),
                    SparkplugMetric(name: "M", alias: 3, time: 1, kind: .string, value: .text("on")),
                ])
        }
        var node = try Node()
        try node.bear()
        _ = try node.send(.deviceData, 2, [temperature(20, at: 10)])
        #expect(try rooms(node.send(.deviceData, 3, [humidity(40, at: 20)])) == [[20, 11, 40]])
        #expect(try births(&node, temperature: 20, at: 10).readings.isEmpty)
        _ = node.nodes.reset(at: Moment(wall: receipt, boot: node.boot, awake: node.boot))
        #expect(try births(&node, temperature: 20, at: 10).readings.isEmpty)
        // A change that was missed has its own time.
        #expect(try rooms(births(&node, temperature: 22, at: 30)) == [[30, 12, 40]])
        var restarted = try Node()
        #expect(try rooms(births(&restarted, temperature: 20, at: 10)) == [[20, 11, 40]])
        // What may not be stored is given again.
        node.nodes.removeValues()
        #expect(try rooms(births(&node, temperature: 22, at: 30)) == [[30, 12, 40]])
    }

    @Test("each historical value is kept, with the historical values before it")
    func history() throws {
        var node = try Node()
        try node.send(.nodeBirth, 0, [.deathNumber(4)])
        try node.send(
            .deviceBirth, 1,
            [
                SparkplugMetric(name: "T", alias: 1, time: 900, kind: .double, value: .real(10)),
                SparkplugMetric(name: "H", alias: 2, time: 900, kind: SparkplugKind(rawValue: 1), value: .whole(9)),
            ])
        let outcome = try node.send(
            .deviceData, 2,
            [
                humidity(1, at: 100, isHistorical: true), humidity(2, at: 200, isHistorical: true),
                temperature(40, at: 200, isHistorical: true), humidity(3, at: 300, isHistorical: true),
                temperature(50, at: 400, isHistorical: true),
            ])
        #expect(rooms(outcome) == [[100, 21, 1], [200, 21, 2], [300, 21, 3], [400, 26, 3]])
        #expect(outcome.translation.reports.allSatisfy { $0.isLate == true })
        #expect(try rooms(node.send(.deviceData, 3, [humidity(10, at: 1000)])) == [[1000, 6, 10]])
        // A later part of the history continues it.
        let next = try node.send(.deviceData, 4, [humidity(4, at: 500, isHistorical: true)])
        #expect(rooms(next) == [[500, 26, 4]])
    }

    @Test("a value that its column cannot have is left out with a reason, and the other columns go on")
    func invalid() throws {
        var node = try Node()
        try node.bear()
        let text = try node.send(
            .deviceData, 2, [SparkplugMetric(alias: 3, time: 10, value: .text("Off")), humidity(40, at: 10)])
        #expect(rooms(text) == [[10, 6, 40]])
        #expect(text.readings.first?.word("mode") == nil, "it is not 'on' any more")
        #expect(text.translation.reports.flatMap(\.omissions).count == 1)
        // The column of the temperature cannot be null.
        #expect(throws: Refusal.self) { try node.send(.deviceData, 3, [temperature(.nan, at: 20)]) }
        #expect(throws: Refusal.self) { try node.send(.deviceData, 4, [temperature(1, at: .max / 2000)]) }
        let null = #expect(throws: Refusal.self) {
            try node.send(.deviceData, 5, [SparkplugMetric(alias: 1, time: 25, value: nil)])
        }
        #expect(null?.description == "the metric 'T' is null, which its column cannot be")
        #expect(try rooms(node.send(.deviceData, 6, [humidity(41, at: 30)])) == [[30, 6, 41]])
        #expect(try rooms(node.send(.deviceData, 7, [temperature(20, at: 40)])) == [[40, 11, 41]])
    }

    @Test("messages in the wrong order are handled in the right one, and none counts as missing")
    func swapped() throws {
        var node = try Node()
        try node.bear()
        _ = try node.send(.deviceData, 2, [temperature(2, at: 2)])
        #expect(try node.pass(.deviceData, 4, [temperature(4, at: 4)]).isEmpty)
        #expect(try node.pass(.deviceData, 5, [temperature(5, at: 5)]).isEmpty)
        let outputs = try node.pass(.deviceData, 3, [temperature(3, at: 3)])
        #expect(outputs.count == 3 && outputs.allSatisfy { $0.finding == nil })
        #expect(try rooms(node.wait(SparkplugTimeline.hold)).map { $0[0] } == [3, 4, 5])
        #expect(try node.wait(10 * SparkplugTimeline.hold).finding == nil)
        #expect(node.nodes.takeRebirths(at: node.boot).isEmpty)
        // The births of a node and its device.
        _ = try node.pass(
            .deviceBirth, 1, [SparkplugMetric(name: "H", alias: 7, time: 1, kind: .double, value: .real(1))])
        _ = try node.pass(.nodeBirth, 0, [.deathNumber(5)])
        #expect(try node.send(.deviceData, 2, [SparkplugMetric(alias: 7, time: 9, value: .real(3))]).finding == nil)
        #expect(node.nodes.takeLostDevices(at: 100 * SparkplugNodes.rebirthInterval).isEmpty)
    }

    @Test("what does not arrive in time counts as missing once, and is used if it arrives later")
    func missing() throws {
        var order = SparkplugOrder<Int>()
        order.begin(250)
        func add(_ number: Int, at boot: Int64 = 0) -> SparkplugOrder<Int>.Result {
            order.add(number, number: UInt8(number), at: boot)
        }
        #expect(add(251).messages == [251])
        #expect(add(251).messages == [251], "a repetition")
        #expect(add(254).messages.isEmpty)
        #expect(add(1, at: 1).messages.isEmpty)
        #expect(order.expire(at: SparkplugOrder<Int>.limit - 1).messages.isEmpty)
        let first = order.expire(at: SparkplugOrder<Int>.limit)
        #expect(first.messages == [254] && first.missing == 2)
        #expect(add(0, at: 5).messages.isEmpty)
        let late = add(253)
        #expect(late.messages == [253] && !late.isLost)
        #expect(add(255).messages == [255, 0, 1])
        #expect(!order.isWaiting)
        #expect(add(200).messages.isEmpty, "it may belong to a birth that comes later")
        #expect(add(2).messages == [2])
        let earlier = order.expire(at: SparkplugOrder<Int>.limit)
        #expect(earlier.messages == [200] && earlier.isLost && earlier.missing == 0)
        #expect(add(3).messages == [3])
    }
}
