/// One of the two vectors whose sum is the acceleration of a sample, in g and Lockstep's axes.
public struct AccelerationPart: Sendable, Equatable {
    /// The time in µs since 1970.
    public var time: Int64
    /// The acceleration along the axes.
    public var x: Double, y: Double, z: Double
    /// Whether it is gravity, or else the acceleration without gravity.
    public var isGravity: Bool
}

/// Adds gravity to accelerations without gravity. The parts of one instant may differ in time, and may arrive in different
/// messages.
///
/// An acceleration gets the gravity of the nearest time within ``tolerance``. It waits while a message that has not arrived
/// could bring a nearer one, but not longer than ``wait``. A gravity may belong to several accelerations: it changes
/// slowly, and the sensors may have different rates.
struct AccelerationPairs: Sendable, Equatable {
    /// The maximum difference of the times of two parts, in µs.
    static let tolerance: Int64 = 10_000
    /// The maximum time that a part waits for the other one, in µs.
    static let wait: Int64 = 5_000_000
    /// The difference of times up to which there is no nearer gravity at the rates of phones, in µs.
    static let certainDifference: Int64 = 1000
    /// The maximum number of waiting parts of each kind. The oldest are dropped.
    static let maxParts = 10_000

    private struct Waiting: Equatable {
        let part: AccelerationPart
        let deadline: Int64
    }

    private var accelerations: [Waiting] = []
    /// By time.
    private var gravities: [Waiting] = []
    private var dropped = 0

    /// Whether nothing waits.
    var isEmpty: Bool { accelerations.isEmpty && gravities.isEmpty }

    var parts: [AccelerationPart] { accelerations.map(\.part) + gravities.map(\.part) }

    /// - Parameter now: the present time in µs.
    /// - Returns: the complete accelerations.
    mutating func add(_ parts: [AccelerationPart], at now: Int64) -> [Reading] {
        for part in parts {
            let waiting = Waiting(part: part, deadline: now + Self.wait)
            if part.isGravity { gravities.append(waiting) } else { accelerations.append(waiting) }
        }
        gravities.sort { $0.part.time < $1.part.time }
        let steps = zip(gravities, gravities.dropFirst()).map { $1.part.time - $0.part.time }
        let certain = max(Self.certainDifference, (steps.lazy.filter { $0 > 0 }.min() ?? 0) / 2)
        let (readings, rest) = pair { waiting, nearest in
            nearest.difference <= certain || nearest.isBetween || waiting.deadline <= now
        }
        accelerations = rest
        dropped += max(0, accelerations.count - Self.maxParts)
        accelerations = Array(accelerations.suffix(Self.maxParts))
        gravities = Array(gravities.suffix(Self.maxParts))
        return readings
    }

    /// Ends the wait of the parts that have waited long enough.
    /// - Parameter now: the present time in µs, or nil to end all.
    /// - Returns: the accelerations that are complete, and the number of those that have no gravity.
    mutating func expire(at now: Int64?) -> (readings: [Reading], unpaired: Int) {
        // A clock that is set back must not prolong the wait.
        func isOver(_ waiting: Waiting) -> Bool {
            now.map { waiting.deadline <= $0 || waiting.deadline > $0 + Self.wait } ?? true
        }
        let (readings, rest) = pair { waiting, _ in isOver(waiting) }
        accelerations = rest.filter { !isOver($0) }
        gravities.removeAll(where: isOver)
        defer { dropped = 0 }
        return (readings, rest.count - accelerations.count + dropped)
    }

    private func pair(
        _ isFinal: (Waiting, (difference: Int64, isBetween: Bool)) -> Bool
    ) -> (readings: [Reading], rest: [Waiting]) {
        var readings: [Reading] = []
        var rest: [Waiting] = []
        for waiting in accelerations {
            let part = waiting.part
            if let (gravity, isBetween) = nearest(to: part.time),
                isFinal(waiting, (abs(gravity.time - part.time), isBetween))
            {
                var reading = Reading("motion/accelerometer", at: part.time)
                // The sum is not −0.
                reading.set("x", part.x + gravity.x + 0)
                reading.set("y", part.y + gravity.y + 0)
                reading.set("z", part.z + gravity.z + 0)
                readings.append(reading)
            } else {
                rest.append(waiting)
            }
        }
        return (readings, rest)
    }

    /// Returns the nearest gravity within the tolerance, and whether there are gravities on both sides of the time.
    private func nearest(to time: Int64) -> (AccelerationPart, isBetween: Bool)? {
        var (low, high) = (0, gravities.count)
        while low < high {
            let middle = (low + high) / 2
            if gravities[middle].part.time < time { low = middle + 1 } else { high = middle }
        }
        let sides = [low - 1, low].filter(gravities.indices.contains).map { gravities[$0].part }
        guard let nearest = sides.min(by: { abs($0.time - time) < abs($1.time - time) }),
            abs(nearest.time - time) <= Self.tolerance
        else { return nil }
        return (nearest, sides.count == 2)
    }
}
