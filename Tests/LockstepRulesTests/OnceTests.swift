import LockstepModel
import LockstepRules
import Testing

/// What is notified once, late, or not at all.
@Suite struct OnceTests {
    static func yaml(_ late: String) -> String {
        "rules: {high: {when: {value: pressure.pressure, above: 10}, late: \(late), late-after: 60s}}"
    }

    @Test("backlog after newer samples continues from the state before the gap, and is marked as late")
    func backlog() throws {
        var bench = try Bench(Self.yaml("mark"))
        bench.pressure((0, 11), (1, 11))
        bench.pressure((1000, 11))
        #expect(bench.times == [0], "the value stayed above the limit")
        bench.delay = 900
        bench.pressure((2, 11), (3, 11))
        #expect(bench.times == [0], "and the backlog only shows that")
        bench.pressure((50, 5), (51, 12))
        #expect(bench.times == [0, 51])
        #expect(bench.events.map(\.isLate) == [false, true])
    }

    @Test("late samples can be left out, and still end a condition")
    func ignored() throws {
        var bench = try Bench(Self.yaml("ignore"))
        bench.delay = 3600
        bench.pressure((0, 11))
        #expect(bench.times.isEmpty)
        bench.delay = 0
        bench.pressure((100, 12))
        #expect(bench.times.isEmpty, "it began in the late samples")
        bench.pressure((101, 9), (102, 12))
        #expect(bench.times == [102])
    }

    @Test("samples that were stored before the start are older than all new ones")
    func start() throws {
        var bench = try Bench(Self.yaml("ignore"), newest: monday + 500)
        bench.delay = 600
        bench.pressure((400, 11))
        bench.delay = 0
        bench.pressure((501, 5), (502, 11))
        #expect(bench.times == [502])
    }

    @Test("a rolled back transaction leaves nothing, and gives the same events again")
    func rollBack() throws {
        var bench = try Bench(Self.yaml("mark"))
        bench.pressure((0, 5))
        bench.engine.commit()
        bench.pressure((1, 11))
        #expect(bench.engine.changes.count == 1)
        bench.engine.rollBack()
        #expect(bench.engine.changes.isEmpty)
        bench.pressure((1, 11), (2, 12))
        #expect(bench.times == [1, 1])
    }

    @Test("a restart continues with the kept states")
    func restart() throws {
        var before = try Bench(Self.yaml("mark"))
        before.pressure((0, 11))
        var after = try Bench(Self.yaml("mark"), states: before.engine.changes, newest: monday)
        after.pressure((1, 12), (2, 5), (3, 12))
        #expect(after.times == [3])
        var without = try Bench(Self.yaml("mark"), newest: monday)
        without.pressure((1, 12))
        #expect(without.times == [1], "without the state it would be notified twice")
    }

    @Test("a rule whose condition changes starts again, and others keep their states")
    func replacement() throws {
        let rules =
            "rules: {a: {when: {value: pressure.pressure, above: 10}}, b: {when: {value: pressure.pressure, above: %}}}"
        var bench = try Bench(rules.replacing("%", with: "10"))
        bench.pressure((0, 11))
        #expect(bench.events.map(\.rule) == ["a", "b"])
        let next = try Bench(rules.replacing("%", with: "9")).engine.ruleSet
        let known = bench.engine.replace(next, states: bench.engine.changes)
        #expect(known.map(\.number) == [1])
        bench.engine.add(left, number: 1, at: Moment(wall: Timestamp(microseconds: 0), boot: 0, awake: 0))
        bench.engine.setNewest(microseconds(monday), of: .pressure, device: 1)
        bench.pressure((1, 11))
        #expect(bench.events.map(\.rule) == ["a", "b", "b"])
    }

    @Test("a restart with another condition does not use the states of the old one")
    func restartWithOtherCondition() throws {
        let rules = "rules: {a: {when: {state: [terminated, background], for: %}}}"
        let old = try Bench(rules.replacing("%", with: "5m")).engine.ruleSet.rules[0]
        let same = try Bench(rules.replacing("%", with: "5m")).engine.ruleSet.rules[0]
        let other = try Bench(rules.replacing("%", with: "6m")).engine.ruleSet.rules[0]
        #expect(old.stateName == same.stateName)
        #expect(old.stateName != other.stateName)
        // As another process computes it: sets have another order in each.
        #expect(old.stateName == "a 776360bdacacb6a6")
    }

    @Test("only devices of the scope are watched")
    func scope() throws {
        let rule = Rule(name: "a", condition: .shake)
        let concerns = { (groups: [String], devices: [String]) in
            var rule = rule
            (rule.groups, rule.devices) = (groups, devices)
            return rule.concerns(left)
        }
        #expect(concerns([], []) && concerns(["lab"], []) && !concerns(["home"], []))
        #expect(concerns([], ["l*t"]) && concerns([], ["lab/lef?"]) && !concerns([], ["*/right"]))
        #expect(!concerns([], ["le"]) && concerns(["lab"], ["x", "*"]) && !concerns(["home"], ["*"]))
        #expect(matches("aab", pattern: "*ab") && matches("", pattern: "**") && !matches("abc", pattern: "*b"))
    }

    @Test("an activity is notified when it begins, and not when it becomes surer")
    func activity() throws {
        var bench = try Bench("rules: {drive: {when: {activity: [automotive, cycling]}}}")
        let row = { (time: Double, start: Double, kind: Double, confidence: Double) in
            (monday + time, [Double(microseconds(monday + start)), kind, confidence])
        }
        bench.send(.activity, [row(10, 0, 2, 1), row(40, 20, 5, 1), row(90, 20, 5, 2)])
        bench.send(.activity, [row(120, 110, 1, 1)])
        bench.send(.activity, [row(200, 180, 4, 1)])
        #expect(bench.times == [40, 200])
    }
}
