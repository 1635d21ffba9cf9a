import LockstepModel
import Testing

@testable import LockstepGateway

// Deaths that no message reports.
extension SparkplugNodesTests {
    @Test("a device that is not born again after its node is lost")
    func notBornAgain() throws {
        var node = try Node()
        try node.bear()
        try node.send(.nodeBirth, 0, [.deathNumber(4)])
        #expect(node.nodes.takeLostDevices(at: node.boot).isEmpty)
        let lost = node.nodes.takeLostDevices(at: node.boot + SparkplugNodes.deviceBirthLimit)
        #expect(lost.map(\.presence) == [ForeignPresence(.lost, reason: "nbirth")])
        try node.bear()
        try node.bear()
        #expect(node.nodes.takeLostDevices(at: node.boot + SparkplugNodes.deviceBirthLimit).isEmpty)
    }

    @Test("a device that has died while messages were lost is lost after the next birth of its node, or with its node")
    func deathsWhileAway() throws {
        let late = 1_000 * SparkplugNodes.rebirthInterval
        func lost(after answer: (inout Node) throws -> Void) throws -> [String] {
            var node = try Node()
            try node.bear()
            try node.send(.deviceBirth, 2, [], device: "fan")
            _ = node.nodes.reset(at: Moment(wall: receipt, boot: node.boot, awake: node.boot))
            #expect(node.nodes.takeLostDevices(at: late).isEmpty)
            #expect(throws: Refusal.self) { try node.send(.deviceData, 3, [temperature(1, at: 2)]) }
            try answer(&node)
            for turn in 0..<20 as Range<Int64> {
                _ = node.nodes.takeRebirths(at: turn * SparkplugNodes.rebirthInterval)
            }
            let reports = node.nodes.takeLostDevices(at: late)
            #expect(node.nodes.takeLostDevices(at: late).isEmpty)
            return reports.map { "\($0.sender.parts.last ?? "") \($0.presence?.reason ?? "")" }
        }
        // The births of the node and the oven arrive, but not that of the fan.
        let afterBirths = try lost { try $0.bear() }
        #expect(afterBirths == ["fan nbirth"])
        let afterBirth = try lost { try $0.send(.nodeBirth, 0, [.deathNumber(4)]) }
        #expect(afterBirth == ["fan nbirth", "oven nbirth"])
        let afterNothing = try lost { _ in }
        #expect(afterNothing == ["fan no-answer", "oven no-answer"])
        var deaths = 0
        let afterDeath = try lost {
            deaths = try $0.send(.nodeDeath, nil, [.deathNumber(4)], time: nil).translation.reports.count
        }
        #expect(deaths == 2)
        #expect(afterDeath.isEmpty)
    }

    @Test("a node with metrics of its own that has died while messages were lost is lost")
    func nodeDeathWhileAway() throws {
        var node = try Node()
        try node.send(
            .nodeBirth, 0,
            [.deathNumber(4), SparkplugMetric(name: "T", alias: 1, time: 1, kind: .double, value: .real(10))])
        _ = node.nodes.reset(at: Moment(wall: receipt, boot: node.boot, awake: node.boot))
        _ = node.nodes.reset(at: Moment(wall: receipt, boot: node.boot, awake: node.boot))
        for turn in 0..<20 as Range<Int64> { _ = node.nodes.takeRebirths(at: turn * SparkplugNodes.rebirthInterval) }
        let reports = node.nodes.takeLostDevices(at: 0)
        #expect(reports.map(\.sender.description) == ["sparkplug/plant/line1"])
        #expect(reports.map(\.presence) == [ForeignPresence(.lost, reason: "no-answer")])
        #expect(node.nodes.count == 0)
    }

    @Test("what was present before a restart is asked for births, and is lost if it does not answer")
    func restart() throws {
        func after(
            _ devices: [String], _ answer: (inout Node) throws -> Void = { _ in }
        ) throws -> (asked: [String], lost: [String]) {
            var node = try Node()
            let names = devices.map { ForeignName("sparkplug", ["plant", "line1"] + ($0.isEmpty ? [] : [$0])) }
            node.nodes.restore(names, at: node.boot)
            let asked = node.nodes.takeRebirths(at: node.boot).map(\.description)
            try answer(&node)
            for turn in 1..<20 as Range<Int64> {
                _ = node.nodes.takeRebirths(at: node.boot + turn * SparkplugNodes.rebirthInterval)
            }
            let reports = node.nodes.takeLostDevices(at: node.boot + 1_000 * SparkplugNodes.rebirthInterval)
            return (asked, reports.map { "\($0.sender) \($0.presence?.reason ?? "")" })
        }
        let silent = try after(["", "oven"])
        #expect(silent.asked == ["plant/line1"])
        #expect(silent.lost == ["sparkplug/plant/line1/oven no-answer", "sparkplug/plant/line1 no-answer"])
        let born = try after(["oven", "fan"]) { try $0.bear() }
        #expect(born.lost == ["sparkplug/plant/line1/fan nbirth"])
        var dead: SparkplugOutcome?
        let died = try after(["", "oven"]) { dead = try $0.send(.nodeDeath, nil, [.deathNumber(77)], time: nil) }
        #expect(died.lost.isEmpty)
        #expect(
            dead?.translation.reports.map { "\($0.sender) \($0.presence?.reason ?? "")" }
                == ["sparkplug/plant/line1/oven ndeath", "sparkplug/plant/line1 ndeath"])
        let none = try after([])
        #expect(none.asked.isEmpty && none.lost.isEmpty)

        // The births were faster.
        var node = try Node()
        try node.bear()
        let names = ["oven", "fan"].map { ForeignName("sparkplug", ["plant", "line1", $0]) }
        node.nodes.restore(names + [ForeignName("sparkplug", ["plant"])], at: node.boot)
        #expect(node.nodes.takeRebirths(at: node.boot).isEmpty)
        let lost = node.nodes.takeLostDevices(at: node.boot + SparkplugNodes.deviceBirthLimit)
        #expect(lost.map(\.sender.parts.last) == ["fan"])
    }
}
