import LockstepModel
import LockstepMotion
import Testing

@testable import LockstepSensors

@Suite("Walking body")
struct WalkingBodyTests {
    static let seeds: [UInt64] = [0, 1, 7, 12_345, .max]

    private func schedule(_ seed: UInt64, start: Int64 = 0) -> SimulationSchedule {
        SimulationSchedule(body: WalkingBody(seed: seed), rate: 100, start: start)
    }

    private func vector(_ block: SampleBlock, _ index: Int) -> SIMD3<Double> {
        SIMD3(block.columns[0][index], block.columns[1][index], block.columns[2][index])
    }

    @Test("equal seeds yield equal samples, however many are taken at once", arguments: seeds)
    func reproducible(seed: UInt64) {
        var whole = schedule(seed)
        let expected = whole.take(through: 9_990_000)
        #expect(
            expected.map(\.stream) == [.accelerometer, .gyroscope, .magnetometer, .location, .pressure, .battery])
        #expect(expected.map(\.count) == [1000, 1000, 1000, 10, 10, 1])

        var pieces = schedule(seed)
        let parts = stride(from: Int64(0), through: 9_990_000, by: 37_000).flatMap { pieces.take(through: $0) }
        let rest = pieces.take(through: 9_990_000)
        for block in expected {
            let times = (parts + rest).filter { $0.stream == block.stream }.flatMap(\.times)
            let first = (parts + rest).filter { $0.stream == block.stream }.flatMap { $0.columns[0] }
            #expect(times == block.times)
            #expect(first == block.columns[0])
        }
    }

    @Test("different seeds yield different persons and different noise")
    func seedsDiffer() {
        #expect(Set(Self.seeds.map { WalkingPerson(seed: $0) }).count == Self.seeds.count)
        let noises = Self.seeds.map { seed in
            WalkingBody(seed: seed, person: WalkingPerson(seed: 1)).noise(lane: 1, index: 0)
        }
        #expect(Set(noises).count == Self.seeds.count)
    }

    @Test("at rest the magnitude is 1 g, and face up the reading is (0, 0, -1)")
    func rest() {
        var person = WalkingPerson(seed: 3)
        var tilted = SimulationSchedule(body: WalkingBody(seed: 3, person: person), rate: 100, start: 0)
        let readings = tilted.take(through: 2_900_000)[0]
        let magnitudes = readings.times.indices.map { length(vector(readings, $0)) }
        #expect(abs(magnitudes.reduce(0, +) / Double(magnitudes.count) - 1) < 0.001)

        (person.pitch, person.roll) = (0, 0)
        var flat = SimulationSchedule(body: WalkingBody(seed: 3, person: person), rate: 100, start: 0)
        let faceUp = flat.take(through: 2_900_000)[0]
        let mean = faceUp.times.indices.map { vector(faceUp, $0) }.reduce(SIMD3(0, 0, 0), +) / Double(faceUp.count)
        #expect(length(mean - SIMD3(0, 0, -1)) < 0.001)
    }

    @Test("integrated gyroscope samples of a cycle yield the attitude", arguments: seeds)
    func gyroscope(seed: UInt64) {
        let body = WalkingBody(seed: seed)
        var schedule = schedule(seed)
        var attitude = body.attitude(at: 0)
        var previous = SIMD3<Double>(0, 0, 0)
        var worst = 0.0
        for second in 1...Int64(body.pace.cycle.rounded(.up)) {
            let block = schedule.take(through: second * 1_000_000)[1]
            for index in block.times.indices {
                let rate = vector(block, index)
                if block.times[index] > 0 { attitude = attitude * Quaternion(rotation: (previous + rate) / 2 * 0.01) }
                previous = rate
            }
            let error = (body.attitude(at: Double(second)).inverse * attitude).rotationVector
            worst = max(worst, length(error))
        }
        #expect(worst < 0.01)
    }

    @Test("accelerometer samples rotated to the earth and integrated twice yield the position", arguments: seeds)
    func accelerometer(seed: UInt64) {
        let body = WalkingBody(seed: seed)
        let step = 0.002
        var velocity = SIMD3<Double>(0, 0, 0)
        var position = body.position(at: 2)
        var previous = SIMD3<Double>(0, 0, 0)
        for index in 1...5000 {
            let time = 2 + Double(index) * step
            let force = body.attitude(at: time).rotate(body.accelerometer(at: time)) * -standardGravity
            let acceleration = force - SIMD3(0, 0, standardGravity)
            let before = velocity
            velocity += (previous + acceleration) / 2 * step
            position += (before + velocity) / 2 * step
            previous = acceleration
        }
        #expect(length(position - body.position(at: 12)) < 0.01)
        #expect(length(position - body.position(at: 2)) > 3)
    }

    @Test("magnetometer samples rotated to the earth have the declination and inclination of the place")
    func magnetometer() {
        let body = WalkingBody(seed: 5)
        for time in [0.0, 5.3, 20.7, 100.1] {
            #expect(length(body.attitude(at: time).rotate(body.magnetometer(at: time)) - body.earthField) < 1e-9)
        }
        #expect((25...62).contains(length(body.earthField)))
    }

    @Test("steps only increase, by an even number per cycle, and agree with the distance", arguments: seeds)
    func truth(seed: UInt64) {
        let body = WalkingBody(seed: seed)
        let cycle = body.pace.cycle
        var last = 0
        for tenth in 0...Int(3 * cycle) {
            let time = Double(tenth) / 10
            let steps = body.steps(at: time)
            #expect(steps == last || steps == last + 1)
            last = steps
            let metres = Double(steps) * body.person.stepLength
            #expect(body.distance(at: time) >= metres - 1e-6)
            #expect(body.distance(at: time) < metres + body.person.stepLength + 1e-6)
            let slope = (body.distance(at: time + 0.001) - body.distance(at: time - 0.001)) / 0.002
            #expect(abs(slope - body.speed(at: time)) < 0.001)
        }
        #expect(body.steps(at: cycle) == body.pace.stepsPerCycle)
        #expect(body.steps(at: 100 * cycle + 1) == 100 * body.pace.stepsPerCycle)
        #expect(body.pace.stepsPerCycle.isMultiple(of: 2))
        #expect((24...26).contains(body.pace.walk))
    }

    @Test("the motion is smooth at the end of a cycle, also after months")
    func seams() {
        let body = WalkingBody(seed: 8)
        for cycle in [1.0, 2.0, 300_000.0] {
            let seam = cycle * body.pace.cycle
            #expect(length(body.position(at: seam - 1e-4) - body.position(at: seam + 1e-4)) < 1e-6)
            let turn = (body.attitude(at: seam - 1e-4).inverse * body.attitude(at: seam + 1e-4)).rotationVector
            #expect(length(turn) < 1e-6)
            #expect(length(body.acceleration(at: seam + 1)) < 1e-6)
        }
    }

    @Test("the errors of fixes match their stated accuracy")
    func fixes() {
        let body = WalkingBody(seed: 9)
        var outside = 0
        for second in 0..<1000 {
            let fix = body.fix(at: Double(second), index: Int64(second))
            let truth = body.geodetic(at: Double(second))
            let north = (fix[0] - truth.latitude) * 111_200
            let east = (fix[1] - truth.longitude) * 111_200 * 0.75
            if (north * north + east * east).squareRoot() > 1.5 * fix[3] { outside += 1 }
            #expect(fix[6].isNaN == (body.speed(at: Double(second)) <= 0.3))
            #expect(fix[6].isNaN || (0..<360).contains(fix[6]))
            #expect(fix[7] == 3 && fix[8].isNaN)
        }
        #expect(outside < 10)
    }
}
