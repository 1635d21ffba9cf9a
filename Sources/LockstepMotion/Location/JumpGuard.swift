import LockstepModel

/// Whether a fix can be where it says, given the one before.
///
/// The speed it takes to get from the last believed fix to this one, less the accuracies of both, is held against a
/// limit. A fix that is too far is suspect; when others confirm it, it is the earlier place that was wrong, or the
/// device was carried while it could not see: then they are believed.
struct JumpGuard: Sendable, Hashable {
    /// m, where a receiver does not say.
    private static let unknownAccuracy = 50.0
    /// s; below it clocks, not positions, make a speed.
    private static let shortestInterval = 0.1

    /// m/s.
    let maximumSpeed: Double
    /// How many fixes that agree with each other outweigh the one before.
    let confirmations: Int

    private var believed: LocationFix?
    private var suspect: LocationFix?
    private var suspectCount = 0

    init(maximumSpeed: Double, confirmations: Int) {
        self.maximumSpeed = maximumSpeed
        self.confirmations = confirmations
    }

    /// Takes a fix.
    /// - Returns: nil if it is believed; else the speed that it would take, in m/s.
    mutating func judge(_ fix: LocationFix) -> Double? {
        let speed = believed.map { Self.speed(from: $0, to: fix) } ?? 0
        if speed > maximumSpeed {
            let isConfirmed = suspect.map { Self.speed(from: $0, to: fix) <= maximumSpeed } ?? false
            suspectCount = isConfirmed ? suspectCount + 1 : 1
            suspect = fix
            if suspectCount < confirmations { return speed }
        }
        believed = fix
        suspect = nil
        suspectCount = 0
        return nil
    }

    private static func speed(from: LocationFix, to: LocationFix) -> Double {
        let uncertain = (from.horizontalAccuracy ?? unknownAccuracy) + (to.horizontalAccuracy ?? unknownAccuracy)
        let distance = max(0, from.coordinate.distance(to: to.coordinate) - uncertain)
        return distance / max(shortestInterval, Double(to.time - from.time) / 1e6)
    }
}
