import Glibc
import LockstepModel
import LockstepMotion
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Shakes")
struct ShakeTests {
    private func shakes(_ block: SampleBlock) -> [Shake] {
        var detector = ShakeDetector()
        return block.times.indices.compactMap { index in
            let sample = block.values(at: index)
            return detector.update(time: block.times[index], x: sample[0], y: sample[1], z: sample[2])
        }
    }

    /// Returns samples of a device that is shaken along `axis` for `seconds`, with gravity and one second at rest
    /// before and after.
    private func shaken(
        frequency: Double, strength: Double, rate: Double, seconds: Double = 1.5,
        axis: SIMD3<Double> = SIMD3(1, 0, 0)
    ) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        let count = Int((seconds + 2) * rate)
        for index in 0..<count {
            let elapsed = Double(index) / rate
            let isShaking = elapsed >= 1 && elapsed < 1 + seconds
            let swing = isShaking ? strength * sin(2 * .pi * frequency * (elapsed - 1)) : 0
            let value = swing * axis + SIMD3(0.1, -0.6, -0.79)
            block.append(
                time: Timestamp(microseconds: Int64(elapsed * 1e6)), values: [value.x, value.y, value.z])
        }
        return block
    }

    private func isShake(_ block: SampleBlock) -> Bool { !shakes(block).isEmpty }

    @Test(
        "walking, running and climbing stairs are not shakes, in a pocket, at the waist or on an arm",
        .enabled(if: sharedData != nil))
    func walks() throws {
        let walks = try recordings("walks", with: isShake)
        #expect(walks.files.isEmpty && walks.of == 15)
        let gait = try recordings(
            "activity", where: { ["walking", "running", "stairs"].contains($0["activity"]) }, with: isShake)
        // A board that hangs at the wrist of a runner swings like a shake.
        #expect(gait.files == ["running-run-mixed-p68-4.csv"] && gait.of > 80)
    }

    @Test("recorded shakes are detected", .enabled(if: sharedData != nil))
    func recorded() throws {
        let shaken = try recordings("activity", where: { $0["activity"] == "shake" }, with: isShake)
        #expect(shaken.files.count == 4 && shaken.of == 4)
    }

    @Test("a bicycle does not shake its device, in a pocket or on the handlebar", .enabled(if: sharedData != nil))
    func bicycles() throws {
        let cycling = try recordings("activity", where: { $0["activity"] == "cycling" }, with: isShake)
        #expect(cycling.files.isEmpty && cycling.of == 7)
    }

    @Test("a road that shakes a device at all frequencies is no shake, but a hand that trembles is one")
    func road() {
        var random = SeededGenerator(seed: 5)
        func shaken(vibration: Double, rate: Double) -> SampleBlock {
            var block = SampleBlock(stream: .accelerometer)
            for index in 0..<Int(10 * rate) {
                let time = Double(index) / rate
                let swing = 2 * sin(2 * .pi * 4 * time) + Double.random(in: -vibration...vibration, using: &random)
                block.append(time: Timestamp(microseconds: Int64(time * 1e6)), values: [0.1, -0.6, swing - 0.79])
            }
            return block
        }
        for rate in [100.0, 200, 400] {
            #expect(!isShake(shaken(vibration: 4, rate: rate)))
            #expect(isShake(shaken(vibration: 0.6, rate: rate)))
        }
    }

    @Test("samples too slow for a shake are ignored, because vibration looks like one")
    func slow() {
        #expect(!isShake(shaken(frequency: 4, strength: 3, rate: 10)))
        #expect(!isShake(shaken(frequency: 4, strength: 3, rate: 20)))
    }

    @Test("a runner's leg that swings as strongly as a shake, but turns, is no shake")
    func turns() {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<1000 {
            let angle = 2 * .pi * 2.7 * Double(index) / 100
            block.append(
                time: Timestamp(microseconds: Int64(index) * 10_000),
                values: [2.2 * sin(angle), -1 + 1.8 * cos(angle), 1.4 * sin(2 * angle)])
        }
        #expect(shakes(block).isEmpty)
    }

    @Test(
        "a shake is detected once, within half a second",
        arguments: [25.0, 50, 100, 400], [(3.0, 2.0), (3, 3), (4, 1.5), (4, 2), (5, 1.5), (5, 3), (6, 4)])
    func synthetic(rate: Double, shake: (frequency: Double, strength: Double)) throws {
        for axis in [SIMD3(1.0, 0, 0), SIMD3(0, 0.6, 0.8), SIMD3(-0.1, 0.6, 0.79)] {
            let found = shakes(
                shaken(frequency: shake.frequency, strength: shake.strength, rate: rate, axis: axis))
            #expect(found.count == 1)
            let first = try #require(found.first)
            #expect((1_000_000..<1_300_000).contains(first.start))
            #expect(first.recognized < 1_500_000)
            #expect(first.strength > 1.1 && first.strength < 1.2 * shake.strength)
        }
    }

    @Test("a long shake is reported once, and a shake after a pause is a new one")
    func pause() {
        let long = shakes(shaken(frequency: 4, strength: 2, rate: 100, seconds: 20))
        #expect(long.count == 1)
        var twice = shaken(frequency: 4, strength: 2, rate: 100)
        let again = twice
        let shift = (twice.times.last ?? 0) + 10_000
        for index in again.times.indices {
            twice.append(time: Timestamp(microseconds: again.times[index] + shift), values: again.values(at: index))
        }
        let found = shakes(twice)
        #expect(found.count == 2)
    }

    @Test("weak, slow and short movements and a rotation of the device are not shakes")
    func others() {
        let weak = shakes(shaken(frequency: 4, strength: 0.8, rate: 100))
        #expect(weak.isEmpty)
        let slow = shakes(shaken(frequency: 1, strength: 2, rate: 100, seconds: 5))
        #expect(slow.isEmpty)
        let short = shakes(shaken(frequency: 4, strength: 3, rate: 100, seconds: 0.2))
        #expect(short.isEmpty)
        var turning = SampleBlock(stream: .accelerometer)
        for index in 0..<1000 {
            let angle = Double(index) / 100 * 2 * .pi
            turning.append(time: Timestamp(microseconds: Int64(index) * 10_000), values: [0, sin(angle), cos(angle)])
        }
        let turned = shakes(turning)
        #expect(turned.isEmpty)
    }
}
