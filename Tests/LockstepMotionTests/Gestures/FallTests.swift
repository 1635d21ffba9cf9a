import LockstepModel
import LockstepMotion
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Falls")
struct FallTests {
    private func falls(_ block: SampleBlock) -> [Fall] {
        var detector = FallDetector()
        return block.times.indices.compactMap { index in
            let sample = block.values(at: index)
            return detector.update(time: block.times[index], x: sample[0], y: sample[1], z: sample[2])
        }
    }

    private func isFall(_ block: SampleBlock) -> Bool { !falls(block).isEmpty }

    /// A person who stands, falls for 0.4 s, hits the ground and lies, each a value that can be changed.
    private func fall(
        rate: Double = 100, support: Double = 0.3, impact: Double = 3, lying: SIMD3<Double> = SIMD3(0, -0.2, -0.98),
        movement: Double = 0, after: Double = 6
    ) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<Int((3 + after) * rate) {
            let elapsed = Double(index) / rate
            var value: SIMD3<Double>
            switch elapsed {
            case ..<3: value = SIMD3(0, -1, 0)
            case ..<3.4: value = SIMD3(0, -support, 0)
            case ..<3.5: value = SIMD3(0, -impact, 0)
            default: value = lying
            }
            if elapsed >= 3.5, index.isMultiple(of: 2) { value *= 1 + movement }
            block.append(
                time: Timestamp(microseconds: Int64(elapsed * 1e6)), values: [value.x, value.y, value.z])
        }
        return block
    }

    @Test("staged falls are detected at waist, pocket and wrist", .enabled(if: sharedData != nil))
    func staged() throws {
        let staged = try recordings("activity", where: { $0["activity"] == "fall" }, with: isFall)
        #expect(staged.of == 30)
        #expect(staged.files.count >= 27)
    }

    @Test("what people do otherwise is no fall", .enabled(if: sharedData != nil))
    func others() throws {
        let others = try recordings("activity", where: { $0["activity"] != "fall" }, with: isFall)
        // A watch, when its wearer gets up.
        #expect(others.files == ["adl-sit_get_up-wrist-p62-1.csv"] && others.of == 180)
        #expect(try recordings("walks", with: isFall).files.isEmpty)
    }

    @Test("a fall is detected once, 2 to 6 s after the impact", arguments: [20.0, 50, 100, 400])
    func synthetic(rate: Double) throws {
        let found = falls(fall(rate: rate))
        #expect(found.count == 1)
        let first = try #require(found.first)
        #expect((3_400_000...3_450_000).contains(first.impact))
        #expect((2_000_000...3_000_000).contains(first.recognized - first.impact))
        #expect(first.strength == 3)
    }

    @Test("each part of a fall is needed")
    func parts() {
        #expect(falls(fall(support: 1)).isEmpty)
        #expect(falls(fall(impact: 2.4)).isEmpty)
        #expect(falls(fall(lying: SIMD3(0, -0.77, -0.64))).isEmpty)
        #expect(falls(fall(lying: SIMD3(0, -0.5, -0.87))).count == 1)
        #expect(falls(fall(movement: 0.15)).isEmpty)
        #expect(falls(fall(movement: 0.05)).count == 1)
        #expect(falls(fall(after: 1.5)).isEmpty)
    }

    @Test("nothing counts that was before a gap of the samples")
    func gap() {
        let whole = fall()
        var block = SampleBlock(stream: .accelerometer)
        for index in whole.times.indices {
            let time = whole.times[index] + (whole.times[index] > 4_000_000 ? 1_000_000 : 0)
            block.append(time: Timestamp(microseconds: time), values: whole.values(at: index))
        }
        #expect(falls(block).isEmpty)
    }
}
