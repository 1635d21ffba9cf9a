import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// A person who climbs, and the barometer of their device.
private struct Climber {
    /// The rate of the barometer, in Hz.
    var rate = 1.0
    /// The standard deviation of the barometer's noise, in hPa.
    var noise = 0.0
    /// The pressure on the ground at a time in s, in hPa.
    var weather: (Double) -> Double = { _ in 0 }
    /// The altitude at a time in s, in m.
    var altitude: (Double) -> Double
    /// The cadence at a time in s, in steps/s; 0 while the person stands.
    var cadence: (Double) -> Double = { _ in 1.8 }

    /// Returns the rows of the floors that are counted in a time in s.
    func floors(seconds: Int) -> SampleBlock {
        var random = TestGenerator(state: 3)
        var counter = FloorCounter()
        var rows = SampleBlock(stream: .floors)
        var next = 0
        for second in 0..<seconds {
            var pressures = SampleBlock(stream: .pressure)
            while Double(next) / rate < Double(second + 1) {
                let time = Double(next) / rate
                let pressure = StandardAtmosphere.pressure(at: altitude(time)) + weather(time)
                pressures.append(
                    time: Timestamp(microseconds: Int64(time * 1e6)), values: [pressure + noise * random.normal()])
                next += 1
            }
            rows.append(contentsOf: counter.update(pressures))
            // Steps are known some seconds after they were taken.
            let end = second - 5
            guard end > 0, cadence(Double(end) - 0.5) > 0 else { continue }
            rows.append(contentsOf: counter.update(steps(until: end, cadence(Double(end) - 0.5))))
        }
        rows.append(contentsOf: counter.finish())
        return rows
    }

    /// Returns the row of steps of a second.
    private func steps(until end: Int, _ cadence: Double) -> SampleBlock {
        var block = SampleBlock(stream: .steps)
        block.append(
            time: Timestamp(microseconds: Int64(end) * 1_000_000),
            values: [Double(end - 1) * 1e6, cadence, 1, 1, 1, cadence])
        return block
    }
}

extension SampleBlock {
    /// The numbers of floors up and down.
    fileprivate var floors: [Int] { [1, 2].map { Int(columns[$0].reduce(0, +)) } }
}

@Suite("Floors")
struct FloorCounterTests {
    /// Returns the altitude of stairs: from 20 s on, a floor of 3 m in 12 s with a landing of 3 s, and 10 s in its hall.
    private static func stairs(_ time: Double) -> Double {
        let (floor, part) = (max(0, ((time - 20) / 25).rounded(.down)), (time - 20).truncatingRemainder(dividingBy: 25))
        guard time > 20 else { return 0 }
        return 3 * floor + (part < 6 ? part / 4 : part < 9 ? 1.5 : min(part - 3, 12) / 4)
    }

    @Test("each floor of stairs is counted, up and down, at every rate of the barometer", arguments: [1, 5, 25])
    func stairs(rate: Double) {
        let up = Climber(rate: rate, noise: 0.01, altitude: Self.stairs).floors(seconds: 270)
        #expect(up.floors == [10, 0])
        let down = Climber(rate: rate, noise: 0.01, altitude: { 30 - Self.stairs($0) }).floors(seconds: 270)
        #expect(down.floors == [0, 10])
        let back = Climber(altitude: { $0 < 145 ? Self.stairs($0) : 15 - Self.stairs($0 - 145) }).floors(seconds: 290)
        #expect(back.floors == [5, 5])
        for rows in [up, down, back] {
            let starts = rows.columns[0].map { Int64($0) }
            #expect(zip(starts, rows.times).allSatisfy { $0 < $1 })
            #expect(zip(rows.times, starts.dropFirst()).allSatisfy { $0 <= $1 }, "intervals do not overlap")
        }
    }

    @Test("a stairwell without halls is counted by its height: a floor at 2 m, then each 3 m")
    func stairwell() {
        for (height, floors) in [(1.5, 0), (2.5, 1), (4.5, 1), (6, 2), (30, 10)] as [(Double, Int)] {
            let climber = Climber(altitude: { min(max(0, $0 - 20) / 4, height) })
            #expect(climber.floors(seconds: Int(height * 4) + 60).floors == [floors, 0], "\(height) m")
        }
    }

    @Test("a climb begins at its lowest point, also after one in the other direction")
    func turns() {
        // Legs of 2.8 m without halls, which begin with one up.
        let legs = Climber(altitude: { time in
            let leg = max(0, time - 20).truncatingRemainder(dividingBy: 22.4)
            return time > 76 ? 2.8 : min(leg, 22.4 - leg) / 4
        })
        #expect(legs.floors(seconds: 120).floors == [3, 2])
        let dip = Climber(altitude: { max(-1.7, min(0, 20 - $0) / 4) + min(max(0, $0 - 27) / 4, 3) })
        #expect(dip.floors(seconds: 80).floors == [1, 0])
    }

    @Test("a barometer may follow a climb two seconds late")
    func slowBarometer() {
        let short = Climber(altitude: { min(max(0, $0 - 22) / 4, 2.2) }, cadence: { 11...29 ~= $0 ? 1.8 : 0 })
        #expect(short.floors(seconds: 60).floors == [1, 0])
    }

    @Test("a lift has no floors, whether its passenger stands or steps from foot to foot")
    func lift() {
        let ride = { (time: Double) in min(max(0, time - 60) * 0.7, 21) }
        let standing = Climber(altitude: ride) { $0 < 57 || $0 > 93 ? 1.8 : 0 }
        #expect(standing.floors(seconds: 150).floors == [0, 0])
        let stepping = Climber(altitude: ride) { $0 < 57 || $0 > 93 ? 1.8 : 1.4 }
        #expect(stepping.floors(seconds: 150).floors == [0, 0])
        // It starts and stops at 0.5 m/s.
        let gentle = Climber(altitude: { time in
            min(max(0, time - 60), 3) / 2 + min(max(0, time - 63), 10) * 0.9 + min(max(0, time - 73), 3) / 2
        })
        #expect(gentle.floors(seconds: 150).floors == [0, 0])
    }

    @Test("an hour of walking on the flat has no floors, in a storm and with a noisy barometer", arguments: [1, 25])
    func weather(rate: Double) {
        // A fall of 8 hPa an hour, and gusts of 0.05 hPa.
        let storm = Climber(
            rate: rate, noise: 0.02, weather: { -8 * $0 / 3600 + 0.05 * sin($0 / 3) }, altitude: { _ in 0 })
        #expect(storm.floors(seconds: 3600).floors == [0, 0])
    }

    @Test("doors, a wrong first reading and pauses of the barometer are no climbs")
    func jumps() {
        let doors = Climber(weather: { $0.truncatingRemainder(dividingBy: 20) < 2 ? 0.4 : 0 }, altitude: { _ in 0 })
        #expect(doors.floors(seconds: 300).floors == [0, 0])
        let building = Climber(weather: { $0 < 60 ? 0 : 0.3 }, altitude: { _ in 0 })
        #expect(building.floors(seconds: 120).floors == [0, 0])
        let first = Climber(altitude: { $0 < 1 ? -2.5 : 0 })
        #expect(first.floors(seconds: 60).floors == [0, 0])

        var counter = FloorCounter()
        var rows = SampleBlock(stream: .floors)
        for second in 0..<100 as Range<Int64> {
            let time = Timestamp(microseconds: second * 1_000_000)
            // 8 m are lost while no pressure is measured.
            if !(40..<60).contains(second) {
                let block = SampleBlock(
                    stream: .pressure, times: [time.microseconds], columns: [[second < 40 ? 1000 : 999]])
                rows.append(contentsOf: counter.update(block))
            }
            let steps = SampleBlock(
                stream: .steps, times: [time.microseconds],
                columns: [Double(second - 1) * 1e6, 2, 1, 1, 1, 2].map { [$0] })
            rows.append(contentsOf: counter.update(steps))
        }
        rows.append(contentsOf: counter.finish())
        #expect(rows.isEmpty)
    }

    @Test("impossible values are ignored")
    func hostile() {
        var counter = FloorCounter()
        for (time, pressure) in [
            (0, .nan), (.max, 1000), (.min, 1000), (5, -1), (6, .infinity), (3, 1000), (6_000_000, 1000),
            (12_000_000, 1000),
        ]
            as [(Int64, Double)]
        {
            _ = counter.update(SampleBlock(stream: .pressure, times: [time], columns: [[pressure]]))
        }
        for (time, start) in [(0, .nan), (.max, 0), (.min, 0), (9, -1e300), (9, -0x1p63), (9, 9), (9, 0)]
            as [(Int64, Double)]
        {
            let columns = [start, 1, 1, 1, 1, 1].map { [$0] }
            #expect(counter.update(SampleBlock(stream: .steps, times: [time], columns: columns)).isEmpty)
        }
        #expect(counter.finish().isEmpty)
    }

    @Test(
        "recorded stairs have their floors, and lifts, walks on the flat and what is no walk have none",
        .enabled(if: sharedData != nil))
    func recordings() throws {
        var (count, known, found) = (0, 0, 0)
        for row in try truthTable("activity/truth.csv") {
            guard let file = row["file"] else { continue }
            let recording = try Recording(file: sharedFile("activity/\(file)"))
            guard let pressure = recording.samples(of: .pressure), let samples = recording.samples(of: .accelerometer)
            else { continue }
            var (pedometer, counter) = (PedometerEstimator(), FloorCounter())
            var rows = counter.update(pressure)
            for steps in [pedometer.update(samples), pedometer.finish()] {
                rows.append(contentsOf: counter.update(steps))
            }
            rows.append(contentsOf: counter.finish())
            let height = row["activity"] == "stairs" ? row["height_m"].flatMap { Double($0) } ?? 0 : 0
            let floors = Int((abs(height) / 3).rounded())
            let counted = height < 0 ? rows.floors.reversed() : rows.floors
            print("floors of \(file): \(rows.floors) of \(height) m")
            #expect(counted[1] == 0 && counted[0] <= floors && counted[0] >= floors - 1, "\(file): \(rows.floors)")
            (count, known, found) = (count + 1, known + floors, found + counted[0])
        }
        #expect(count == 28 && known == 13)
        #expect(found >= 10)
    }
}
