public import LockstepModel

/// Fixes in, decisions out: which of them are for whoever asked, and which can't be believed.
///
/// Fixes are judged in this order: is it a place, is it later, can its receiver's clock be right, can the device have
/// come there, is it old, is it accurate enough, is it far enough from the last one accepted. One that can't be
/// believed changes nothing that later ones are held against.
public struct LocationFilter: Sendable, Hashable {
    /// What is asked for.
    public struct Settings: Sendable, Hashable {
        /// m: fixes that are known to be less accurate are withheld; nil takes all. An accuracy that the receiver does
        /// not tell is not held against it.
        public var desiredAccuracy: Double?
        /// m from the last accepted fix below which a fix is withheld; 0 takes all.
        public var distanceFilter = 0.0
        /// s from which on a position is old and marked so.
        public var staleAfter = 10.0
        /// Whether old positions are withheld.
        public var refusesStale = false
        /// m/s that nothing moves faster than.
        public var maximumSpeed = 400.0
        /// How many fixes in a row that agree with each other are believed against what is known.
        public var confirmations = 5

        public init() {}
    }

    public let settings: Settings
    /// The last two fixes that were accepted.
    public private(set) var current: LocationFix?
    public private(set) var previous: LocationFix?

    private var clock: ReceiverClock
    private var jumps: JumpGuard
    private var last: Timestamp?

    /// A filter that has seen nothing.
    public init(_ settings: Settings = Settings()) {
        self.settings = settings
        clock = ReceiverClock(confirmations: settings.confirmations)
        jumps = JumpGuard(maximumSpeed: settings.maximumSpeed, confirmations: settings.confirmations)
    }

    /// Takes a fix.
    /// - Parameter now: when it is judged, on the device's time line; when it arrived unless said otherwise.
    public mutating func update(_ fix: LocationFix, now: Timestamp? = nil) -> LocationDecision {
        var fix = fix
        if let reason = disbelief(of: &fix) { return .withheld(reason) }
        let age = fix.age(at: now ?? fix.time)
        fix.isStale = age > settings.staleAfter
        if fix.isStale, settings.refusesStale { return .withheld(.stale(age)) }
        if let desired = settings.desiredAccuracy, let accuracy = fix.horizontalAccuracy, accuracy > desired {
            return .withheld(.inaccurate(accuracy))
        }
        if settings.distanceFilter > 0, let current {
            let distance = current.coordinate.distance(to: fix.coordinate)
            if distance < settings.distanceFilter { return .withheld(.near(distance)) }
        }
        previous = current
        current = fix
        return .accepted(previous: previous, current: fix)
    }

    /// Takes a row of the `location` stream; one without position fails as *location unknown*.
    /// - Parameter values: in the order of the stream's columns.
    /// - Precondition: `values` has a value for each column.
    public mutating func update(time: Timestamp, values: [Double], now: Timestamp? = nil) -> LocationDecision {
        guard let fix = LocationFix(time: time, values: values) else {
            return .failed(.locationUnknown("the receiver has no fix"))
        }
        return update(fix, now: now)
    }

    /// Whether the current fix has become old by `now`, or there is none.
    public func isStale(at now: Timestamp) -> Bool {
        current.map { $0.age(at: now) > settings.staleAfter } ?? true
    }

    /// Why the fix is not believed; nil if it is. Takes a lasting error of the receiver's clock out of its time.
    private mutating func disbelief(of fix: inout LocationFix) -> LocationWithholding? {
        let place = fix.coordinate
        let isNowhere = place.latitude == 0 && place.longitude == 0 && fix.horizontalAccuracy == nil
        guard place.isValid, !isNowhere else { return .noPlace }
        if let last, fix.time <= last { return .notLater }
        if let fixTime = fix.fixTime {
            switch clock.judge(fixTime, at: fix.time) {
            case .believed(let corrected): fix.fixTime = corrected
            case .off(let off): return .clock(off: Double(off) / 1e6)
            }
        }
        last = fix.time
        return jumps.judge(fix).map { .jump(speed: $0) }
    }
}
