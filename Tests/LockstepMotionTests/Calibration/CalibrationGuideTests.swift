import LockstepModel
import LockstepMotion
import Testing

@Suite("The guidance through a calibration")
struct CalibrationGuideTests {
    private var guide = CalibrationGuide(hasGyroscope: false, replaced: nil, at: 0)
    private var time: Int64 = 0

    /// Lies still for three seconds at 50 Hz, and returns the notes.
    private mutating func lie(_ gravity: SIMD3<Double>, shaking: Double = 0) throws -> [String] {
        var samples = SampleBlock(stream: .accelerometer)
        for index in 0..<150 {
            time += 20_000
            samples.append(
                time: Timestamp(microseconds: time),
                values: [gravity.x + (index % 2 == 0 ? shaking : 0), gravity.y, gravity.z])
        }
        return try guide.add(samples, at: time)
    }

    @Test("names the position that is next, those that are done, and why one is not used")
    mutating func steps() throws {
        #expect(guide.next?.hasPrefix("1 of 9: lay it flat, its screen up (z up), and leave") == true && !guide.isStill)
        #expect(try lie(SIMD3(0, 0, -1.1), shaking: 0.5) == [] && !guide.isStill)
        #expect(try lie(SIMD3(0, 0, -1.1)) == ["found faceUp: |a| is 1.1 g"] && guide.isStill)
        #expect(guide.next?.hasPrefix("2 of 9: lay it flat, its screen down") == true)
        #expect(guide.positions.map(\.isDone) == [true] + Array(repeating: false, count: 8))
        // The sides may come in any order.
        #expect(try lie(SIMD3(1.02, 0, 0)) == ["found landscapeRight: |a| is 1.02 g"])
        #expect(guide.positions[5].isDone && guide.next?.hasPrefix("3 of 9: lay it flat, its screen down") == true)
        #expect(
            try lie(SIMD3(0, 0, -1)) == [
                "at rest, but not used: this position was used already, or is between two sides"
            ])
        for side in [SIMD3(0.0, 0, 1), SIMD3(0, -1, 0), SIMD3(0, 1, 0), SIMD3(-1, 0, 0)] { _ = try lie(side) }
        #expect(guide.next?.hasPrefix("7 of 9: lean it against something") == true)
        #expect(try lie(SIMD3(0.8, 0.6, 0)) == ["found a tilted position: |a| is 1.0 g"])
        // Away from it, so that the detector reports it again.
        _ = try lie(SIMD3(0, 0, 1))
        #expect(
            try lie(SIMD3(0.8, 0.6, 0)) == [
                "at rest, but not used: tilt it further, and in another direction than before"
            ])
        for tilt in [SIMD3(-0.6, 0, 0.8), SIMD3(0, -0.8, -0.6)] { _ = try lie(tilt) }
        #expect(guide.calibrator.isComplete && guide.next == nil && guide.positions.allSatisfy(\.isDone))
    }

    @Test("removes the present calibration from the samples, so that the result is that of the sensor")
    mutating func calibrated() throws {
        var matrix = InertialCalibration.identity
        matrix[2].z = 0.8
        let replaced = InertialCalibration(
            time: Timestamp(microseconds: 1), matrix: matrix, offset: .zero, positions: 9, errorBefore: 0.1,
            errorAfter: 0.001)
        guide = CalibrationGuide(hasGyroscope: false, replaced: replaced, at: 0)
        #expect(try lie(SIMD3(0, 0, -0.88)) == ["found faceUp: |a| is 1.1 g"])
    }

    @Test("ends without samples, or without a new position in time")
    mutating func problems() throws {
        let second: Int64 = 1_000_000
        #expect(guide.problem(at: 19 * second, patience: 60 * second) == nil)
        #expect(guide.problem(at: 20 * second, patience: 60 * second)?.hasPrefix("no samples for 20 s") == true)
        #expect(guide.problem(at: 20 * second, patience: 60 * second, isConnected: false) == nil)
        #expect(guide.problem(at: 21 * second, patience: 60 * second) == nil)
        _ = try lie(SIMD3(0, 0, -1))
        #expect(guide.problem(at: 22 * second, patience: 60 * second) == nil)
        // The same position again is not a new one.
        time = 62 * second
        _ = try lie(SIMD3(0, 0, -1))
        #expect(guide.problem(at: 62 * second, patience: 60 * second) == nil)
        #expect(
            guide.problem(at: 63 * second, patience: 60 * second)
                == "it was not laid in a new position in time: nothing was changed")
    }
}
