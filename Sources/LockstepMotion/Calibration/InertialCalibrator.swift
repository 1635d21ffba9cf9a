public import LockstepModel

/// Calibrates accelerometer and gyroscope from positions in which the device lay still.
///
/// The device lies once on each of its six sides, for scale, offset and misalignment of the accelerometer (the linear method of
/// ST's application note AN4508), and then in ``checks`` tilted positions, which show how good the result is. At rest, |a| is 1 g
/// in every direction, however the device lies (Tedaldi, Pretto, Menegatti: A robust and easy to implement method for IMU
/// calibration without external equipments, ICRA 2014), and the gyroscope reads its offset.
///
/// The matrix is symmetric: it corrects axes that are not at right angles, but never turns the readings, because |a| does not
/// show a rotation, and gyroscope and magnetometer on the same board would have to be turned, too.
///
/// The difference of a side from level only affects the misalignment: scale and offset come from |a|. The tilted positions do not
/// change these values, but decide which of them are used: if they fit better without the misalignment, because the device did
/// not lie flat, it is left out, and so are scale and offset if nothing fits better than the readings themselves.
public struct InertialCalibrator: Sendable {
    /// The number of tilted positions that show how good the result is.
    public static let checks = 3
    /// The largest deviation of |a| from 1 g of an uncalibrated sensor that can be calibrated, in g.
    private static let maxError = 0.2
    /// The largest error of a calibration, in g.
    private static let maxRemaining = 0.02
    /// The largest difference of the rotation rate in a position from the median of all positions, on an axis, in rad/s.
    private static let maxTurning = 0.02
    /// The least angle between two tilted positions, in rad.
    private static let minAngle = 20 * Double.pi / 180

    /// The positions on the sides of the device.
    public private(set) var faces: [DeviceOrientation: StillPosition] = [:]
    /// The tilted positions.
    public private(set) var tilted: [StillPosition] = []

    /// Creates a calibrator without positions.
    public init() {}

    /// The sides in the order in which they are shown.
    static let sides: [DeviceOrientation] = [
        .faceUp, .faceDown, .portrait, .portraitUpsideDown, .landscapeLeft, .landscapeRight,
    ]

    /// The sides on which the device has not lain yet, in the order in which they are shown.
    public var missing: [DeviceOrientation] { Self.sides.filter { faces[$0] == nil } }

    /// Whether there are enough positions.
    public var isComplete: Bool { missing.isEmpty && tilted.count >= Self.checks }

    /// The number of positions.
    public var count: Int { faces.count + tilted.count }

    /// Adds a position.
    /// - Returns: whether it is used: not if the device lay there before, or is neither on a side nor clearly tilted.
    /// - Throws: ``InertialCalibrationError`` if the readings are impossible.
    public mutating func add(_ position: StillPosition) throws(InertialCalibrationError) -> Bool {
        let size = length(position.acceleration)
        guard abs(size - 1) <= Self.maxError else { throw .impossibleAcceleration(size) }
        if let rate = position.rotationRate {
            for axis in 0..<3 where rate[axis].magnitude > InertialCalibration.maxRotationOffset {
                throw .impossibleRotation(rate[axis].magnitude)
            }
        }
        if let face = position.face {
            guard faces[face] == nil else { return false }
            faces[face] = position
            return true
        }
        guard tilted.count < Self.checks, position.isTilted,
            tilted.allSatisfy({ $0.angle(to: position.acceleration) >= Self.minAngle })
        else { return false }
        tilted.append(position)
        return true
    }

    /// Returns the calibration.
    /// - Parameter time: when it was determined.
    /// - Throws: ``InertialCalibrationError`` if sides are missing, or the result is no good. Without tilted positions, its error
    ///   is that of the sides, which is smaller than that in other positions.
    public func calibration(at time: Timestamp) throws(InertialCalibrationError) -> InertialCalibration {
        guard missing.isEmpty else { throw .missing(missing) }
        let judged = (tilted.isEmpty ? Array(faces.values) : tilted).map(\.acceleration)
        let before = Self.error(of: judged, InertialCalibration.identity, .zero)
        var best = (error: before, rows: InertialCalibration.identity, offset: SIMD3<Double>.zero)
        for findsMisalignment in tilted.isEmpty ? [true] : [true, false] {
            guard let (rows, offset) = fit(findsMisalignment: findsMisalignment) else { continue }
            let error = Self.error(of: judged, rows, offset)
            if error < best.error { best = (error, rows, offset) }
        }
        guard best.error <= Self.maxRemaining else { throw .inaccurate(before: before, after: best.error) }
        let rate = try rotationOffset()
        let calibration = InertialCalibration(
            time: time, matrix: best.rows.map(Self.rounded), offset: Self.rounded(best.offset),
            rotationOffset: rate.map(Self.rounded), positions: count, errorBefore: resolved(before, decimals: 6),
            errorAfter: resolved(best.error, decimals: 6))
        if let problem = calibration.problem { throw .impossible(problem) }
        return calibration
    }

    /// Returns the mean rotation rate, in rad/s; nil without one in each position.
    /// - Throws: ``InertialCalibrationError`` if the device turned in a position: about the vertical, |a| does not show it.
    private func rotationOffset() throws(InertialCalibrationError) -> SIMD3<Double>? {
        let rates = (Array(faces.values) + tilted).compactMap(\.rotationRate)
        guard rates.count == count else { return nil }
        for axis in 0..<3 {
            let values = rates.map { $0[axis] }.sorted()
            let median = values[values.count / 2]
            let difference = max(median - values[0], values[values.count - 1] - median)
            guard difference <= Self.maxTurning else { throw .turning(difference) }
        }
        return rates.reduce(SIMD3.zero, +) / Double(count)
    }

    /// Returns the root mean square of |a| − 1, in g.
    private static func error(
        of readings: [SIMD3<Double>], _ rows: [SIMD3<Double>], _ offset: SIMD3<Double>
    ) -> Double {
        let squares = readings.map { reading in
            let error = length(product(rows, reading - offset)) - 1
            return error * error
        }
        return (squares.reduce(0, +) / Double(max(1, squares.count))).squareRoot()
    }

    private static func rounded(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(
            resolved(vector.x, decimals: 7), resolved(vector.y, decimals: 7), resolved(vector.z, decimals: 7))
    }

    private static func product(_ rows: [SIMD3<Double>], _ vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(dot(rows[0], vector), dot(rows[1], vector), dot(rows[2], vector))
    }
}

extension InertialCalibrator {
    /// The weight of the readings across gravity: a side is level within about a degree (17 mg), while |a| is known within about
    /// a milligravity.
    private static let levelWeight = 1.0 / 17

    /// Finds matrix and offset by Gauss–Newton steps from the identity.
    ///
    /// The unknowns are the rows of the matrix M and the offset b; a = M (x − b) is the calibrated reading x. On each side, |a| is
    /// 1 g, and a has no part across the axis that points down.
    /// - Returns: the symmetric matrix that gives the same |a| as M, and the offset; nil if the equations are singular.
    private func fit(findsMisalignment: Bool) -> (rows: [SIMD3<Double>], offset: SIMD3<Double>)? {
        var rows = InertialCalibration.identity
        var offset = SIMD3<Double>.zero
        for _ in 0..<10 {
            var equations = NormalEquations(count: 12)
            for (face, position) in faces {
                let reading = position.acceleration - offset
                let value = Self.product(rows, reading)
                let size = length(value)
                var features = [Double](repeating: 0, count: 12)
                for axis in 0..<3 { Self.add(value[axis] / size, axis, rows, reading, to: &features) }
                equations.add(features, target: 1 - size)
                for axis in 0..<3 where findsMisalignment && face.gravity[axis] == 0 {
                    features = [Double](repeating: 0, count: 12)
                    Self.add(Self.levelWeight, axis, rows, reading, to: &features)
                    equations.add(features, target: -value[axis] * Self.levelWeight)
                }
            }
            for row in 0..<3 where !findsMisalignment {
                for column in 0..<3 where column != row {
                    var features = [Double](repeating: 0, count: 12)
                    features[3 * row + column] = 1
                    equations.add(features, target: 0)
                }
            }
            guard let step = equations.solution(of: 0..<12, ridge: { _ in 0 })?.values else { return nil }
            for row in 0..<3 { rows[row] += SIMD3(step[3 * row], step[3 * row + 1], step[3 * row + 2]) }
            offset += SIMD3(step[9], step[10], step[11])
        }
        rows = Self.withoutRotation(rows)
        let isFinite = (rows + [offset]).allSatisfy { length($0).isFinite }
        return isFinite ? (rows, offset) : nil
    }

    /// Returns the symmetric factor S of a matrix M = RS that is close to the identity, where R is a rotation: the square root of
    /// the product of M's transpose and M.
    private static func withoutRotation(_ rows: [SIMD3<Double>]) -> [SIMD3<Double>] {
        let columns = (0..<3).map { SIMD3(rows[0][$0], rows[1][$0], rows[2][$0]) }
        let square = products(columns)
        var root = InertialCalibration.identity
        // Each step multiplies the error by the distance of the root from the identity, which is less than a half.
        for _ in 0..<60 {
            let difference = zip(square, products(root)).map { $0 - $1 }
            root = zip(root, difference).map { $0 + $1 / 2 }
        }
        return root
    }

    /// Returns the matrix of the products of each two vectors.
    private static func products(_ vectors: [SIMD3<Double>]) -> [SIMD3<Double>] {
        vectors.map { SIMD3(dot(vectors[0], $0), dot(vectors[1], $0), dot(vectors[2], $0)) }
    }

    /// Adds `weight` times the derivatives of one axis of the calibrated reading.
    private static func add(
        _ weight: Double, _ axis: Int, _ rows: [SIMD3<Double>], _ reading: SIMD3<Double>, to features: inout [Double]
    ) {
        for column in 0..<3 {
            features[3 * axis + column] += weight * reading[column]
            features[9 + column] -= weight * rows[axis][column]
        }
    }
}

/// The reason why there is no calibration.
public enum InertialCalibrationError: Error, Sendable, Hashable {
    /// The device did not lie on these sides.
    case missing([DeviceOrientation])
    /// At rest, the accelerometer reads this many g.
    case impossibleAcceleration(Double)
    /// At rest, the gyroscope reads this many rad/s.
    case impossibleRotation(Double)
    /// In a position, the gyroscope reads this many rad/s more or less than in the others.
    case turning(Double)
    /// The error of the calibrated values, in g, is too large.
    case inaccurate(before: Double, after: Double)
    /// The result is not that of a sensor, for this reason.
    case impossible(String)
}

extension InertialCalibrationError: CustomStringConvertible {
    /// The reason as one sentence.
    public var description: String {
        switch self {
        case .missing(let faces):
            return "the device did not lie still on these sides: \(faces.map(\.rawValue).joined(separator: ", "))"
        case .impossibleAcceleration(let size):
            return
                "at rest, the accelerometer reads \(resolved(size, decimals: 3)) g: more than 20 % from 1 g is no error "
                + "of scale or offset, but a wrong unit or a broken sensor"
        case .impossibleRotation(let rate):
            return
                "at rest, the gyroscope reads \(resolved(rate * 180 / .pi, decimals: 1)) °/s, too much for an offset"
        case .turning(let difference):
            return
                "in one position, the gyroscope reads \(resolved(difference * 180 / .pi, decimals: 1)) °/s more or less than in the "
                + "others: the device was turned there"
        case .inaccurate(let before, let after):
            return
                "in the tilted positions, |a| differs from 1 g by \(resolved(after * 1000, decimals: 1)) mg with the "
                + "calibration, and by \(resolved(before * 1000, decimals: 1)) mg without: the device was moved, or did not "
                + "lie flat"
        case .impossible(let problem): return "not a valid calibration: \(problem)"
        }
    }
}
