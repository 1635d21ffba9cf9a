/// How a device has moved in the last ten seconds, and what that tells about the person with it.
///
/// | Activity | is recognised by |
/// |---|---|
/// | walking, running | steps; a run has more of them, or stronger ones |
/// | cycling | pedals: one smooth swing for each turn; or a rough road: strong, irregular, along gravity |
/// | automotive | weak, steady vibration along gravity; or more speed than legs have |
/// | stationary | no movement; or the sway of a body: weak, across gravity |
struct Movement: Sendable {
    /// The root mean square of the magnitude at the frequencies of steps, in g.
    var strength = 0.0
    /// The root mean square of the magnitude above those frequencies, in g.
    var vibration = 0.0
    /// The ratio of movements across gravity to those along it; nil for a magnitude without direction.
    var sideways: Double?
    /// The kurtosis at the frequencies of steps: 3 for steady vibration, more for single movements.
    var burstiness = 3.0
    /// How much the direction of gravity changed: the root mean square of its angle to the mean, in °.
    var tilt = 0.0
    /// The mean periodicity.
    var regularity = 0.0
    /// Whether the signal swings like pedals.
    var isPedalling = false
    /// The cadence in steps/s during gait; nil otherwise.
    var cadence: Double?
    /// The speed over ground in m/s; nil if it is not known.
    var speed: Double?

    /// The speeds in m/s that a vehicle exceeds: that of a runner, that of a cyclist, and that at which it stands.
    private static let (runner, cyclist, standing) = (7.0, 14.0, 0.7)

    /// The activity of these ten seconds, and how sure it is.
    var activity: (kind: MotionActivity.Kind, confidence: MotionActivity.Confidence) {
        let kind = ownKind
        guard let speed else { return (kind, kind == .unknown || isRoughRoad ? .low : .medium) }
        if speed > Self.runner { return (kind == .cycling && speed < Self.cyclist ? .cycling : .automotive, .high) }
        switch kind {
        case .stationary: return speed < Self.standing ? (kind, .high) : (.unknown, .low)
        case .automotive, .cycling: return (kind, speed > Self.standing ? .high : .medium)
        case .walking, .running: return (kind, speed > Self.standing ? .high : .medium)
        case .unknown: return (kind, .low)
        }
    }

    /// The activity by acceleration alone.
    private var ownKind: MotionActivity.Kind {
        if let cadence { return cadence + 2 * strength > 3.55 ? .running : .walking }
        let across = sideways ?? 0
        if strength < 0.004, vibration < 0.004 { return .stationary }
        if strength < 0.02, vibration < 0.02, across > 1.8 { return .stationary }
        // The direction of the rest is needed.
        guard sideways != nil else { return .unknown }
        if isPedalling, regularity > 0.55, strength > 0.07, tilt < 6 { return .cycling }
        if isRoughRoad { return .cycling }
        let isSteady = burstiness < 4.4 && tilt < 7 && across < 1.6
        return isSteady && (0.007...0.075).contains(strength) ? .automotive : .unknown
    }

    private var isRoughRoad: Bool {
        cadence == nil && strength > 0.15 && vibration > 0.08 && vibration < 1.2 * strength && regularity < 0.5
            && tilt < 8.5 && sideways ?? 9 < 1.1
    }
}
