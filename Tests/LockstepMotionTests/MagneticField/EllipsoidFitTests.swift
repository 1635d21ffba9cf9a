import Glibc
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

@Suite("Ellipsoid fit")
struct EllipsoidFitTests {
    static let center = SIMD3(14.0, -22, 31)
    /// A distortion of determinant 1. Its axes have a ratio of 1.44 and are not aligned with those of the device.
    static let distortion = SymmetricMatrix(
        SymmetricMatrix.Eigensystem(
            values: SIMD3(1.2, 1, 1 / 1.2),
            vectors: SymmetricMatrix(xx: 2, xy: 1, xz: 0.4, yy: 3, yz: -0.7, zz: 5).eigensystem.vectors))
    static let strength = 48.0

    /// Returns readings in random directions for which `accepts` returns true.
    static func readings(
        _ count: Int, noise: Double, distortion: SymmetricMatrix = distortion, seed: UInt64 = 1,
        accepts: (SIMD3<Double>) -> Bool = { _ in true }
    ) -> [SIMD3<Double>] {
        var random = SeededGenerator(seed: seed)
        func vector() -> SIMD3<Double> {
            SIMD3(
                .random(in: -1...1, using: &random), .random(in: -1...1, using: &random),
                .random(in: -1...1, using: &random))
        }
        var readings: [SIMD3<Double>] = []
        while readings.count < count {
            let direction = vector()
            let size = length(direction)
            guard size > 0.1, size < 1, accepts(direction / size) else { continue }
            // Uniform noise has a standard deviation of 1 / √3.
            readings.append(
                center + distortion * (direction * (strength / size)) + vector() * (noise * 3.0.squareRoot()))
        }
        return readings
    }

    private func fit(_ readings: [SIMD3<Double>]) -> EllipsoidFit.Result? {
        var fit = EllipsoidFit()
        for reading in readings { fit.add(reading) }
        return fit.result
    }

    @Test("centre, axes and strength are found from noisy readings", arguments: UInt64(1)...5)
    func noisy(seed: UInt64) throws {
        let result = try #require(fit(Self.readings(400, noise: 0.5, seed: seed)))
        #expect(length(result.center - Self.center) < 0.3)
        #expect(abs(result.radius - Self.strength) < 0.3)
        #expect(abs(result.residual - 0.5) < 0.1)
        #expect(result.sphereResidual > 3)
        #expect(abs(result.axisRatio - 1.44) < 0.02)
        for axis in [SIMD3(1.0, 0, 0), SIMD3(0.0, 1, 0), SIMD3(0.0, 0, 1)] {
            #expect(length(result.correction * (Self.distortion * axis) - axis) < 0.015)
        }
    }

    @Test("readings on a sphere yield a sphere")
    func sphere() throws {
        let sphere = SymmetricMatrix(diagonal: 1)
        let result = try #require(fit(Self.readings(400, noise: 0.5, distortion: sphere)))
        #expect(result.axisRatio < 1.01)
        #expect(result.sphereResidual < 1.05 * result.residual)
    }

    @Test("recent readings outweigh old ones")
    func memory() throws {
        let old = Self.readings(2000, noise: 0.2)
        let moved = Self.readings(2000, noise: 0.2, seed: 2).map { $0 + SIMD3(30, 0, 0) }
        let result = try #require(fit(old + moved))
        #expect(length(result.center - Self.center - SIMD3(30, 0, 0)) < 1.5)
    }

    @Test("too few readings, and readings in one plane, yield no ellipsoid")
    func degenerate() {
        #expect(EllipsoidFit().result == nil)
        #expect(fit(Array(repeating: SIMD3(1.0, 2, 3), count: 100)) == nil)
        let circle = (0..<100).map { SIMD3(40 * cos(Double($0)), 40 * sin(Double($0)), 0) }
        #expect(fit(circle) == nil)
    }

    @Test("the coverage is the fraction of the sphere with recent readings")
    func coverage() {
        var coverage = SphereCoverage()
        #expect(coverage.fraction == 0)
        let sphere = SymmetricMatrix(diagonal: 1)
        let all = Self.readings(400, noise: 0, distortion: sphere).map { $0 - Self.center }
        for direction in all { coverage.add(direction) }
        #expect(coverage.fraction == 1)
        for direction in all where direction.z > 0 { for _ in 0..<3 { coverage.add(direction) } }
        // The upper face of the cube, and the upper halves of its sides.
        #expect(coverage.fraction == 0.5)
    }

    @Test("a symmetric matrix is the sum of its eigenvectors")
    func eigensystem() {
        let matrix = SymmetricMatrix(xx: 2, xy: 1, xz: 0.4, yy: 3, yz: -0.7, zz: 5)
        let system = matrix.eigensystem
        for (value, vector) in [
            (system.values.x, system.vectors.0), (system.values.y, system.vectors.1),
            (system.values.z, system.vectors.2),
        ] {
            #expect(length(matrix * vector - value * vector) < 1e-12 && abs(length(vector) - 1) < 1e-12)
        }
        let same = SymmetricMatrix(system)
        #expect(abs(same.xy - 1) < 1e-12 && abs(same.zz - 5) < 1e-12)
        let diagonal = SymmetricMatrix(diagonal: 3).eigensystem
        #expect(diagonal.values == SIMD3(3, 3, 3))
    }
}
