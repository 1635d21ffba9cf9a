import LockstepModel
import LockstepRules
import Testing

@Suite struct ValueTests {
    static let high = "rules: {high: {when: {value: pressure.pressure, above: 10, clear: 8}}}"

    @Test("a value notifies when it passes the limit, and again only after it was back at the clear limit")
    func hysteresis() throws {
        var bench = try Bench(Self.high)
        bench.pressure((0, 9), (1, 10), (2, 11), (3, 9), (4, 12), (5, 8), (6, 9), (7, 11))
        #expect(bench.times == [2, 7])
        #expect(bench.events.map(\.value) == [11, 11])
        #expect(bench.events.first?.text == "lab/left: high: pressure is 11 hPa, above 10 hPa")
    }

    @Test("blocks that stay on one side of the limit are skipped without a change of the result")
    func quietBlocks() throws {
        var one = try Bench(Self.high)
        var all = try Bench(Self.high)
        let values = (0..<500).map { (index: Int) -> Double in
            let step = Double((index * 7919) % 13 - 6)
            return 10 + 4 * step / 6
        }
        for (index, value) in values.enumerated() { one.pressure((Double(index), value)) }
        for start in stride(from: 0, to: 500, by: 20) {
            all.send(.pressure, (start..<start + 20).map { (monday + Double($0), [values[$0]]) })
        }
        #expect(one.times == all.times)
        #expect(one.times.count > 10)
    }

    @Test("a value below a limit notifies after the minimum duration, in the time of the samples")
    func duration() throws {
        var bench = try Bench("rules: {low: {when: {value: pressure.pressure, below: 5, for: 10s}}}")
        bench.pressure((0, 4), (5, 4), (9, 6), (10, 4), (19, 4))
        #expect(bench.times.isEmpty)
        bench.pressure((20, 4), (21, 3))
        #expect(bench.times == [20])
    }

    @Test("a delayed sample continues the state from before its gap")
    func delayed() throws {
        var bench = try Bench("rules: {high: {when: {value: pressure.pressure, above: 10}}}")
        bench.pressure((0, 11))
        bench.pressure((1000, 12))
        bench.pressure((1001, 9))
        bench.pressure((500, 12))
        #expect(bench.times == [0])
    }

    @Test("an unknown value neither starts nor ends a condition")
    func unknown() throws {
        var bench = try Bench("rules: {fast: {when: {speed: any, above: 36 km/h}}}")
        bench.send(
            .location,
            [(monday, fix(north: 0, speed: 11)), (monday + 1, fix(north: 0)), (monday + 2, fix(north: 0, speed: 12))])
        #expect(bench.times == [0])
    }

    @Test("an aggregate is compared after its span has passed")
    func aggregates() throws {
        var bench = try Bench(
            "rules: {mean: {when: {value: pressure.pressure, above: 10, aggregate: mean, over: 20s}}}")
        bench.send(.pressure, (0..<18).map { (monday + Double($0), [$0 == 3 ? 100 : 9]) })
        #expect(bench.times.isEmpty)
        bench.send(.pressure, (18..<22).map { (monday + Double($0), [9]) })
        #expect(bench.times == [19])
        #expect(bench.events.first?.value == 13.55)
    }

    @Test("a cool-down suppresses notifications within its time")
    func cooldown() throws {
        var bench = try Bench("rules: {high: {when: {value: pressure.pressure, above: 10}, cooldown: 60s}}")
        bench.pressure((0, 11), (1, 9), (2, 11), (59, 9), (60, 11))
        #expect(bench.times == [0, 60])
    }

    @Test("late events and others do not use up each other's cool-down")
    func lateCooldown() throws {
        var bench = try Bench("rules: {high: {when: {value: pressure.pressure, above: 10}, cooldown: 1h}}")
        bench.pressure((0, 11), (1, 9))
        // The backlog of an outage, in order.
        bench.delay = 1800
        bench.pressure((600, 11), (601, 9))
        bench.pressure((610, 11), (611, 9))
        bench.delay = 0
        for time in [2500.0, 3700, 6000] { bench.pressure((time, 11), (time + 1, 9)) }
        #expect(bench.times == [0, 600, 3700])
        // Backlog that arrives after newer samples.
        bench.delay = 10_000
        for time in [3650.0, 5000] { bench.pressure((time, 11), (time + 1, 9)) }
        #expect(bench.times == [0, 600, 3700, 5000], "the late event at 600 counts, and the one at 3700 does not")
        bench.delay = 0
        bench.pressure((7301, 11))
        #expect(bench.times == [0, 600, 3700, 5000, 7301])
        #expect(bench.events.map(\.isLate) == [false, true, false, true, false])
    }

    @Test("older samples that are not late do not end the cool-down of newer ones")
    func unorderedCooldown() throws {
        var bench = try Bench("rules: {high: {when: {value: pressure.pressure, above: 10}, cooldown: 30s}}")
        bench.pressure((40, 9), (100, 11), (101, 9))
        bench.delay = 52
        bench.pressure((50, 11), (51, 9))
        bench.delay = 0
        bench.pressure((105, 11), (106, 9), (131, 11))
        #expect(bench.times == [100, 50, 131])
        #expect(bench.events.allSatisfy { !$0.isLate })
    }

    @Test("a schedule restricts notifications to its days and hours, in the time of the samples")
    func schedule() throws {
        let yaml = """
            rules:
              high:
                when: {value: pressure.pressure, above: 10}
                schedule: {days: [mon], from: "22:00", to: "06:00", zone: Europe/Berlin}
            """
        var bench = try Bench(yaml)
        // 22:00 in Berlin is 21:00 UTC in winter.
        for hour in [0.0, 20.9, 21, 28.9, 29.1, 45] { bench.pressure((hour * 3600, 11), (hour * 3600 + 1, 9)) }
        #expect(bench.times.map { $0 / 3600 } == [21, 28.9])
    }

    @Test("a time zone has its summer time")
    func summerTime() throws {
        let yaml = """
            rules:
              high:
                when: {value: pressure.pressure, above: 10}
                schedule: {from: "12:00", to: "12:01", zone: Europe/Berlin}
            """
        var bench = try Bench(yaml)
        let july = 1_782_864_000.0
        for minutes in stride(from: 0.0, to: 1440, by: 1) {
            bench.send(.pressure, [(july + minutes * 60, [11]), (july + minutes * 60 + 1, [9])])
        }
        #expect(bench.events.map(\.time.description) == ["2026-07-01T10:00:00.000000Z"])
    }

    @Test("steps are counted for each day of the zone, in any order, and notify once a day")
    func steps() throws {
        var bench = try Bench("rules: {goal: {when: {steps: 100}}}")
        let row = { (time: Double, steps: Double) in (monday + time, [0, steps, .nan, .nan, .nan, .nan, .nan]) }
        let columns = SensorStream.steps.columns.count
        let cut = { (row: (Double, [Double])) in
            (row.0, Array((row.1 + Array(repeating: .nan, count: 9)).prefix(columns)))
        }
        bench.send(.steps, [cut(row(10, 60))])
        bench.send(.steps, [cut(row(5, 30))])
        #expect(bench.times.isEmpty)
        bench.send(.steps, [cut(row(20, 10)), cut(row(30, 50))])
        bench.send(.steps, [cut(row(86_401, 99)), cut(row(86_402, 1))])
        #expect(bench.times == [20, 86_402])
    }

    @Test("an orientation notifies once it has lasted")
    func orientation() throws {
        var bench = try Bench("rules: {down: {when: {orientation: faceDown, for: 5s}}}")
        bench.send(.orientation, [(monday, [5]), (monday + 3, [4]), (monday + 10, [5]), (monday + 30, [0])])
        #expect(bench.times == [15])
    }

    @Test("an orientation that lasts is notified without a change, and not once more at the change")
    func heldOrientation() throws {
        var bench = try Bench("rules: {down: {when: {orientation: faceDown, for: 5s}}}")
        bench.send(.orientation, [(monday, [5])])
        bench.tick(9.9)
        #expect(bench.times.isEmpty, "a change may be on its way")
        bench.tick(10)
        bench.tick(11)
        #expect(bench.times == [5])
        bench.send(.orientation, [(monday + 20, [0])])
        #expect(bench.times == [5])
        bench.send(.orientation, [(monday + 30, [5])], isLive: false)
        bench.tick(100)
        #expect(bench.times == [5], "the backlog may go on")
        bench.send(.orientation, [(monday + 40, [0])], isLive: false)
        #expect(bench.times == [5, 35])
    }

    @Test("the duration of an orientation is measured by its arrival, not by a device's clock")
    func orientationOfSlowClock() throws {
        var bench = try Bench("rules: {down: {when: {orientation: faceDown, for: 5s}}}")
        bench.delay = 3600
        bench.send(.orientation, [(monday, [5])])
        bench.tick(9.9)
        #expect(bench.times.isEmpty)
        bench.tick(10)
        #expect(bench.times == [5])
    }

    @Test("an orientation of a device that has gone away is not assumed to last")
    func orientationOfLostDevice() throws {
        var bench = try Bench("rules: {down: {when: {orientation: faceDown, for: 30s}}}")
        bench.send(.orientation, [(monday, [5])])
        bench.become(.background, 20)
        bench.tick(100)
        #expect(bench.times.isEmpty)
        bench.delay = 200
        bench.send(.orientation, [(monday + 2, [0])], isLive: false)
        #expect(bench.times.isEmpty)
    }

    @Test("an orientation remains held when a transaction is rolled back")
    func orientationAfterRollBack() throws {
        var bench = try Bench("rules: {down: {when: {orientation: faceDown, for: 5s}}}")
        bench.send(.orientation, [(monday, [5])])
        bench.engine.commit()
        bench.tick(10)
        #expect(bench.times == [5])
        bench.engine.rollBack()
        bench.tick(11)
        #expect(bench.times == [5, 5])
    }

    @Test("an orientation that is told at its change is not late")
    func orientationToldAtChange() throws {
        var bench = try Bench("rules: {down: {when: {orientation: faceDown, for: 5s}, late: ignore}}")
        bench.send(.orientation, [(monday, [5])], isLive: false)
        bench.send(.orientation, [(monday + 600, [0])])
        #expect(bench.times == [5])
    }

    @Test("a shake is found in accelerometer samples")
    func shake() throws {
        var bench = try Bench("rules: {shaken: {when: {shake: any}}}")
        let rows = (0..<300).map { index in
            let time = Double(index) / 100
            let swing = index > 100 && index < 250 ? 2.5 * (Double(index % 25) < 12.5 ? 1.0 : -1.0) : 0
            return (monday + time, [swing, 0, -1])
        }
        bench.send(.accelerometer, rows)
        #expect(bench.events.count == 1)
        #expect((1...2).contains(bench.times.first ?? 0))
    }

    @Test("a fall has the time of its impact")
    func fall() throws {
        var bench = try Bench("rules: {fallen: {when: {fall: any}}}")
        let rows = (0..<800).map { index -> (Double, [Double]) in
            let value: [Double]
            switch index {
            case ..<300: value = [0, -1, 0]
            case ..<340: value = [0, -0.2, 0]
            case ..<345: value = [0, -4, -1]
            default: value = [0, 0, -1]
            }
            return (monday + Double(index) / 100, value)
        }
        bench.send(.accelerometer, rows)
        #expect(bench.events.count == 1)
        #expect((3.39...3.41).contains(bench.times.first ?? 0))
    }
}
