public import LockstepModel

/// Decides which location fixes are accepted.
///
/// A fix is checked in this order: valid coordinate, later than the previous fix (or confirmed by later ones), plausible receiver clock, plausible
/// movement, age, accuracy, distance from the last accepted fix. A rejected implausible fix does not affect the checks
/// of later ones.
public struct LocationFilter: Sendable, Hashable {
    /// The requirements on fixes.
    public struct Settings: Sendable, Hashable {
        /// The worst accepted accuracy in m; nil accepts all fixes. Fixes of unknown accuracy are always accepted.
        public var desiredAccuracy: Double?
        /// The smallest accepted distance from the last accepted fix in m; 0 accepts all fixes.
        public var distanceFilter = 0.0
        /// The age in s beyond which a fix is marked as stale.
        public var staleAfter = 10.0
        /// Whether stale fixes are rejected.
        public var rejectsStale = false
        /// The largest plausible speed, in m/s.
        public var maximumSpeed = 400.0
        /// The number of consecutive, mutually consistent fixes after which an implausible position or clock is
        /// accepted.
        public var confirmations = 5

        /// Creates the default requirements.
        public init() {}
    }

    /// The requirements of this filter.
    public let settings: Settings
    /// The last accepted fix.
    public private(set) var current: LocationFix?
    /// The accepted fix before ``current``.
    public private(set) var previous: LocationFix?

    private var clock: ReceiverClockCheck
    private var jumps: JumpDetector
    private var last: Timestamp?
    /// The newest of the consecutive fixes that are not later than ``last``, and their number.
    private var earlier: Earlier?

    private struct Earlier: Hashable {
        var time: Timestamp
        var count: Int
    }

    /// Creates a filter in its initial state.
    public init(_ settings: Settings = Settings()) {
        self.settings = settings
        clock = ReceiverClockCheck(confirmations: settings.confirmations)
        jumps = JumpDetector(maximumSpeed: settings.maximumSpeed, confirmations: settings.confirmations)
    }

    /// Processes a fix.
    ///
    /// - Parameter now: the current time on the device's time line; by default the fix's time of arrival.
    public mutating func update(_ fix: LocationFix, now: Timestamp? = nil) -> LocationDecision {
        var fix = fix
        if let reason = rejection(of: &fix) { return .rejected(reason) }
        let age = fix.age(at: now ?? fix.time)
        fix.isStale = age > settings.staleAfter
        if fix.isStale, settings.rejectsStale { return .rejected(.stale(age)) }
        if let desired = settings.desiredAccuracy, let accuracy = fix.horizontalAccuracy, accuracy > desired {
            return .rejected(.inaccurate(accuracy))
        }
        if settings.distanceFilter > 0, let current {
            let distance = current.coordinate.distance(to: fix.coordinate)
            if distance < settings.distanceFilter { return .rejected(.near(distance)) }
        }
        previous = current
        current = fix
        return .accepted(previous: previous, current: fix)
    }

    /// Processes a row of the `location` stream. For a row without position the result is `locationUnknown`.
    ///
    /// - Parameters:
    ///   - values: the row, in the order of the stream's columns.
    ///   - now: the current time on the device's time line; by default the time of arrival.
    /// - Precondition: `values` has a value for each column.
    public mutating func update(time: Timestamp, values: [Double], now: Timestamp? = nil) -> LocationDecision {
        guard let fix = LocationFix(time: time, values: values) else {
            return .failed(.locationUnknown("the receiver has no fix"))
        }
        return update(fix, now: now)
    }

    /// Returns whether the current fix is stale at `now`, or there is no fix.
    public func isStale(at now: Timestamp) -> Bool {
        current.map { $0.age(at: now) > settings.staleAfter } ?? true
    }

    /// Returns why the fix is implausible, or nil if it is plausible. Corrects the fix's time for a persistent error of
    /// the receiver's clock.
    private mutating func rejection(of fix: inout LocationFix) -> LocationRejection? {
        let place = fix.coordinate
        let isNullIsland = place.latitude == 0 && place.longitude == 0 && fix.horizontalAccuracy == nil
        guard place.isValid, !isNullIsland else { return .invalidCoordinate }
        guard isInOrder(fix.time) else { return .outOfOrder }
        if let fixTime = fix.fixTime {
            switch clock.check(fixTime, at: fix.time) {
            case .plausible(let corrected): fix.fixTime = corrected
            case .off(let off): return .clock(offset: Double(off) / 1e6)
            }
        }
        last = fix.time
        return jumps.check(fix).map { .jump(speed: $0) }
    }

    /// Returns whether a fix is later than the previous one. If several fixes are not, but follow one another, the time
    /// of the previous one was wrong, and they are accepted.
    private mutating func isInOrder(_ time: Timestamp) -> Bool {
        guard let last, time <= last else {
            earlier = nil
            return true
        }
        let count = earlier.map { time > $0.time ? $0.count + 1 : 1 } ?? 1
        guard count >= settings.confirmations else {
            earlier = Earlier(time: time, count: count)
            return false
        }
        earlier = nil
        return true
    }
}
