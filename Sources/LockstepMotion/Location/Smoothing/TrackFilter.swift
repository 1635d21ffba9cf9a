import Glibc

/// The forward pass of ``TrackSmoother``: a Kalman filter (R. E. Kalman 1960) of position and velocity, whose velocity
/// changes at random.
///
/// The state is (east, north, velocity east, velocity north, a, b) in m and m/s. The last two relate the velocity by steps
/// and heading, u, to the true one: v = a u + b u⊥. They account for the error of the step length, and for the angle
/// between the direction of the device and that of the walk, both of which are learnt while there are fixes.
struct TrackFilter: Sendable {
    /// The change of `a` and `b`, squared, in a second: 0.1 in ten seconds, as when the device is held differently.
    private static let alignmentChange = 0.001
    private static let initialAlignmentVariance = 0.5
    /// The variance of the velocity at the start of a part, in m²/s².
    private static let initialVelocityVariance = 100.0

    private let parameters: TrackSmootherParameters
    private(set) var state: [Double]
    private(set) var covariance: Matrix6

    /// - Parameter maxSpeed: a speed that is above that of most devices, in m/s; nil if the device probably does not fly.
    init(
        east: Double, north: Double, deviation: Double, maxSpeed: Double? = nil, parameters: TrackSmootherParameters
    ) {
        self.parameters = parameters
        state = [east, north, 0, 0, 1, 0]
        let place = deviation * deviation
        let velocity = maxSpeed.map { $0 * $0 } ?? Self.initialVelocityVariance
        covariance = Matrix6(diagonal: [
            place, place, velocity, velocity, Self.initialAlignmentVariance, Self.initialAlignmentVariance,
        ])
    }

    /// The change of the state in a time.
    static func transition(_ seconds: Double) -> Matrix6 {
        var matrix = Matrix6(diagonal: [1, 1, 1, 1, 1, 1])
        matrix[0, 2] = seconds
        matrix[1, 3] = seconds
        return matrix
    }

    mutating func predict(_ seconds: Double) {
        let transition = Self.transition(seconds)
        state = transition * state
        var noise = Matrix6(diagonal: [0, 0, 0, 0, Self.alignmentChange * seconds, Self.alignmentChange * seconds])
        let density = parameters.acceleration * parameters.acceleration
        for axis in 0..<2 {
            noise[axis, axis] = density * seconds * seconds * seconds / 3
            noise[axis, axis + 2] = density * seconds * seconds / 2
            noise[axis + 2, axis] = noise[axis, axis + 2]
            noise[axis + 2, axis + 2] = density * seconds
        }
        covariance = transition * covariance * transition.transposed + noise
    }

    /// Converts the state to another plane. The scales of both differ so little that the covariance is kept.
    mutating func move(from old: LocalPlane, to new: LocalPlane) {
        let (east, north) = new.position(of: old.place(east: state[0], north: state[1]))
        // At a pole, there is no scale of longitudes.
        let scale = min(max(new.parallel / old.parallel, 0.5), 2)
        state.replaceSubrange(
            0..<4, with: [east, north, state[2] * scale, state[3] * new.meridian / old.meridian])
    }

    /// Forgets position and velocity, because several fixes lead to a state that the filter did not expect.
    mutating func forget(for other: TrackFilter) {
        let difference = zip(state, other.state).map { $0 - $1 }
        let distance = difference[0] * difference[0] + difference[1] * difference[1]
        let velocity = difference[2] * difference[2] + difference[3] * difference[3]
        for axis in 0..<2 {
            covariance[axis, axis] += distance
            covariance[axis + 2, axis + 2] += max(velocity, Self.initialVelocityVariance)
        }
    }

    /// A part of the state that has an east and a north component.
    enum Quantity: Int { case position = 0, velocity = 2 }

    /// Returns the square of the distance of a measurement from the predicted one, in standard deviations.
    func distance(_ quantity: Quantity, east: Double, north: Double, deviation: Double) -> Double {
        let (first, second) = (quantity.rawValue, quantity.rawValue + 1)
        let (x, y) = (east - state[first], north - state[second])
        let variance = deviation * deviation
        let (xx, yy, xy) = (
            covariance[first, first] + variance, covariance[second, second] + variance, covariance[first, second]
        )
        let determinant = xx * yy - xy * xy
        return determinant > 0 ? (yy * x * x - 2 * xy * x * y + xx * y * y) / determinant : .infinity
    }

    /// Corrects the state with a position.
    mutating func correct(east: Double, north: Double, deviation: Double) {
        correct([1, 0, 0, 0, 0, 0], east, deviation: deviation)
        correct([0, 1, 0, 0, 0, 0], north, deviation: deviation)
    }

    /// Corrects the state with the measurement `row` · state = `value`.
    mutating func correct(_ row: [Double], _ value: Double, deviation: Double) {
        let gains = covariance * row
        let variance = zip(row, gains).reduce(deviation * deviation) { $0 + $1.0 * $1.1 }
        let innovation = value - zip(row, state).reduce(0) { $0 + $1.0 * $1.1 }
        for index in 0..<Matrix6.size {
            state[index] += gains[index] * innovation / variance
            for other in 0..<Matrix6.size { covariance[index, other] -= gains[index] * gains[other] / variance }
        }
    }

    mutating func correct(_ velocity: StepVelocity) {
        let angle = velocity.heading * .pi / 180
        let (east, north) = (velocity.speed * sin(angle), velocity.speed * cos(angle))
        correct([0, 0, 1, 0, -east, -north], 0, deviation: parameters.stepDeviation)
        correct([0, 0, 0, 1, -north, east], 0, deviation: parameters.stepDeviation)
    }
}
