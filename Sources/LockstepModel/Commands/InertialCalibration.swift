/// The calibration of a device's accelerometer and gyroscope.
///
/// The calibrated acceleration is ``matrix`` · (reading − ``offset``), the calibrated rotation rate is the reading minus
/// ``rotationOffset``.
public struct InertialCalibration: Sendable, Hashable {
    /// The largest plausible offset of an accelerometer on an axis, in g.
    public static let maxOffset = 0.25
    /// The largest plausible deviation of an element of ``matrix`` from that of the identity.
    public static let maxDeviation = 0.25
    /// The largest plausible offset of a gyroscope on an axis, in rad/s: about 20°/s.
    public static let maxRotationOffset = 0.35

    /// When it was determined.
    public var time: Timestamp
    /// The rows of the matrix that corrects scale and misalignment of the accelerometer. It is symmetric: another one would turn
    /// the accelerometer against the gyroscope and the magnetometer.
    public var matrix: [SIMD3<Double>]
    /// The reading of the accelerometer without acceleration, in g.
    public var offset: SIMD3<Double>
    /// The reading of the gyroscope at rest, in rad/s; nil without a gyroscope.
    public var rotationOffset: SIMD3<Double>?
    /// The number of positions in which the device lay still.
    public var positions: Int
    /// The root mean square of the differences of |a| from 1 g without the calibration, in g.
    public var errorBefore: Double
    /// The same with the calibration.
    public var errorAfter: Double

    /// Creates a calibration.
    public init(
        time: Timestamp, matrix: [SIMD3<Double>], offset: SIMD3<Double>, rotationOffset: SIMD3<Double>? = nil,
        positions: Int, errorBefore: Double, errorAfter: Double
    ) {
        self.time = time
        self.matrix = matrix
        self.offset = offset
        self.rotationOffset = rotationOffset
        self.positions = positions
        self.errorBefore = errorBefore
        self.errorAfter = errorAfter
    }

    /// Why the values cannot be those of a sensor, as one sentence; nil if they can.
    public var problem: String? {
        func isWithin(_ limit: Double, _ values: SIMD3<Double>) -> Bool {
            (0..<3).allSatisfy { values[$0].magnitude <= limit }
        }
        guard matrix.count == 3, (0..<3).allSatisfy({ isWithin(Self.maxDeviation, matrix[$0] - Self.identity[$0]) })
        else { return "an element of the matrix differs by more than \(Self.maxDeviation) from the identity" }
        guard (0..<3).allSatisfy({ row in (0..<row).allSatisfy { abs(matrix[row][$0] - matrix[$0][row]) <= 1e-9 } })
        else { return "the matrix is not symmetric" }
        guard isWithin(Self.maxOffset, offset) else {
            return "the offset of the accelerometer is above \(Self.maxOffset) g"
        }
        guard rotationOffset.map({ isWithin(Self.maxRotationOffset, $0) }) ?? true else {
            return "the offset of the gyroscope is above \(Self.maxRotationOffset) rad/s"
        }
        guard (0..<1 << 53).contains(time.microseconds), (1...1000).contains(positions), (0...1).contains(errorBefore),
            (0...1).contains(errorAfter)
        else { return "the time, the number of positions or an error is out of range" }
        return nil
    }

    /// Returns the samples with calibrated values. Those of other streams are unchanged.
    public func calibrated(_ samples: SampleBlock) -> SampleBlock {
        convert(samples, acceleration: { Self.product(matrix, $0 - offset) }, rotation: { $0 - $1 })
    }

    /// Returns calibrated samples as they were before the calibration, up to their rounding.
    public func uncalibrated(_ samples: SampleBlock) -> SampleBlock {
        let inverse = Self.inverse(of: matrix)
        return convert(samples, acceleration: { Self.product(inverse, $0) + offset }, rotation: { $0 + $1 })
    }

    private func convert(
        _ samples: SampleBlock, acceleration: (SIMD3<Double>) -> SIMD3<Double>,
        rotation: (SIMD3<Double>, SIMD3<Double>) -> SIMD3<Double>
    ) -> SampleBlock {
        let isAcceleration = samples.stream == .accelerometer
        guard isAcceleration || (samples.stream == .gyroscope && rotationOffset != nil) else { return samples }
        var columns = samples.columns
        for index in samples.times.indices {
            let value = SIMD3(columns[0][index], columns[1][index], columns[2][index])
            let converted = isAcceleration ? acceleration(value) : rotation(value, rotationOffset ?? .zero)
            // Millionths are finer than any sensor. Further decimals would only make payloads longer, and adding 0 turns a
            // negative zero into a positive one.
            let rounded = (converted * 1e6).rounded(.toNearestOrAwayFromZero) / 1e6 + 0
            for axis in 0..<3 { columns[axis][index] = rounded[axis] }
        }
        return SampleBlock(stream: samples.stream, times: samples.times, columns: columns)
    }

    // MARK: - Matrices

    /// The rows of the matrix that changes nothing.
    public static let identity = [SIMD3(1.0, 0, 0), SIMD3(0, 1.0, 0), SIMD3(0, 0, 1.0)]

    private static func product(_ rows: [SIMD3<Double>], _ vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3((rows[0] * vector).sum(), (rows[1] * vector).sum(), (rows[2] * vector).sum())
    }

    /// Returns the inverse of a matrix that is close to the identity: its columns are cross products of the rows.
    private static func inverse(of rows: [SIMD3<Double>]) -> [SIMD3<Double>] {
        func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
            SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
        }
        let columns = [cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])]
        let determinant = (rows[0] * columns[0]).sum()
        return (0..<3).map { SIMD3(columns[0][$0], columns[1][$0], columns[2][$0]) / determinant }
    }
}
