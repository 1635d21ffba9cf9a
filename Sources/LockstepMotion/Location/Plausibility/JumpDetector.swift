import LockstepModel

/// Detects implausible jumps of the position.
///
/// The speed from the last accepted fix to the new one, after subtracting the accuracies of both, is compared with a
/// limit. A fix that is too far away is suspect. If later fixes confirm it, the new position is accepted: the earlier
/// one was wrong, or the device was moved without reception.
struct JumpDetector: Sendable, Hashable {
    /// The assumed accuracy if the receiver reports none, in m.
    private static let unknownAccuracy = 50.0
    /// The smallest interval used, in s. Below it the speed would depend on the clock's error.
    private static let minInterval = 0.1

    /// The largest plausible speed, in m/s.
    let maximumSpeed: Double
    /// The number of mutually consistent fixes that outweigh the previous position.
    let confirmations: Int

    private var lastAccepted: LocationFix?
    private var suspect: LocationFix?
    private var suspectCount = 0

    init(maximumSpeed: Double, confirmations: Int) {
        self.maximumSpeed = maximumSpeed
        self.confirmations = confirmations
    }

    /// - Returns: nil if the fix is plausible; otherwise the implied speed, in m/s.
    mutating func check(_ fix: LocationFix) -> Double? {
        let speed = lastAccepted.map { Self.speed(from: $0, to: fix) } ?? 0
        if speed > maximumSpeed {
            let isConfirmed = suspect.map { Self.speed(from: $0, to: fix) <= maximumSpeed } ?? false
            suspectCount = isConfirmed ? suspectCount + 1 : 1
            suspect = fix
            if suspectCount < confirmations { return speed }
        }
        lastAccepted = fix
        suspect = nil
        suspectCount = 0
        return nil
    }

    private static func speed(from: LocationFix, to: LocationFix) -> Double {
        let uncertain = (from.horizontalAccuracy ?? unknownAccuracy) + (to.horizontalAccuracy ?? unknownAccuracy)
        let distance = max(0, from.coordinate.distance(to: to.coordinate) - uncertain)
        return distance / max(minInterval, Double(to.time - from.time) / 1e6)
    }
}
