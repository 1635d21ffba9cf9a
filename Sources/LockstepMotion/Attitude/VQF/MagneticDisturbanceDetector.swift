import Glibc

/// Detects magnetic disturbances: compares strength and dip of the field with a reference. The reference follows the
/// field slowly, and is replaced if another field persists while the device rotates.
struct MagneticDisturbanceDetector: Sendable {
    private struct Field {
        /// The strength, in the magnetometer's unit.
        var strength = 0.0
        /// The angle below the horizontal, in rad.
        var dip = 0.0

        mutating func follow(_ other: Field, by gain: Double) {
            strength += gain * (other.strength - strength)
            dip += gain * (other.dip - dip)
        }
    }

    /// Whether the field differs from the reference, or there is no reference yet.
    private(set) var isDisturbed = true
    private var reference = Field()
    /// The field that may replace the reference.
    private var candidate = Field()
    /// The time for which the field has matched the reference, in s.
    private var undisturbedTime = 0.0
    /// The time with rotation for which the field has matched the candidate, in s.
    private var candidateTime = 0.0
    private var smooth = LowPass<SIMD2<Double>>()
    private var filter: LowPassCoefficients
    private var gain: Double
    private let parameters: VQFParameters
    private let dipThreshold: Double
    private let minRotation: Double

    init(_ parameters: VQFParameters, interval: Double) {
        self.parameters = parameters
        dipThreshold = parameters.fieldDipThreshold * .pi / 180
        minRotation = parameters.newFieldRotation * .pi / 180
        filter = LowPassCoefficients(time: parameters.fieldTime, interval: interval)
        gain = followingGain(time: parameters.fieldReferenceTime, interval: interval)
    }

    /// - Parameters:
    ///   - field: in the earth frame (east, north, up).
    ///   - rotation: the magnitude of the rotation rate, in rad/s.
    @inline(__always)
    mutating func update(_ field: SIMD3<Double>, rotation: Double, interval: Double, elapsed: Double) {
        let strength = length(field)
        let smoothed = smooth.update(
            SIMD2(strength, -asin(min(1, max(-1, field.z / strength)))), filter, settling: parameters.fieldTime,
            interval: interval)
        let present = Field(strength: smoothed.x, dip: smoothed.y)
        compareWithReference(present, elapsed)
        updateCandidate(present, rotation, elapsed)
    }

    mutating func retune(interval: Double) {
        let new = LowPassCoefficients(time: parameters.fieldTime, interval: interval)
        smooth.adapt(from: filter, to: new)
        filter = new
        gain = followingGain(time: parameters.fieldReferenceTime, interval: interval)
    }

    @inline(__always)
    private mutating func compareWithReference(_ present: Field, _ elapsed: Double) {
        guard isAlike(present, reference) else {
            undisturbedTime = 0
            isDisturbed = true
            return
        }
        undisturbedTime += elapsed
        guard undisturbedTime >= parameters.minUndisturbedDuration else { return }
        isDisturbed = false
        reference.follow(present, by: gain)
    }

    @inline(__always)
    private mutating func updateCandidate(_ present: Field, _ rotation: Double, _ elapsed: Double) {
        guard isAlike(present, candidate) else {
            candidateTime = 0
            candidate = present
            return
        }
        if rotation >= minRotation { candidateTime += elapsed }
        candidate.follow(present, by: gain)
        guard isDisturbed else { return }
        let isFirst = reference.strength == 0
        if candidateTime >= parameters.newFieldTime || (isFirst && candidateTime >= parameters.firstFieldTime) {
            reference = candidate
            isDisturbed = false
            undisturbedTime = parameters.minUndisturbedDuration
        }
    }

    @inline(__always)
    private func isAlike(_ field: Field, _ other: Field) -> Bool {
        abs(field.strength - other.strength) < parameters.fieldStrengthThreshold * other.strength
            && abs(field.dip - other.dip) < dipThreshold
    }
}
