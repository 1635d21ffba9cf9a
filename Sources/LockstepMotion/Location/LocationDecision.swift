/// The result of processing a fix, or a row without a fix.
public enum LocationDecision: Sendable, Hashable {
    /// The fix is accepted; `previous` is the one accepted before.
    case accepted(previous: LocationFix?, current: LocationFix)
    /// The fix does not meet the requirements or is implausible.
    case rejected(LocationRejection)
    /// There is no fix.
    case failed(LocationError)
}

/// The reason for rejecting a fix.
public enum LocationRejection: Sendable, Hashable {
    /// The accuracy, in m, is worse than the desired one.
    case inaccurate(Double)
    /// The distance from the last accepted fix, in m, is less than the distance filter requires.
    case near(Double)
    /// The age of the fix, in s, exceeds the limit.
    case stale(Double)
    /// The fix is not later than the previous one.
    case outOfOrder
    /// The coordinate is invalid, or it is latitude and longitude 0 of unknown accuracy, which some receivers report
    /// without a fix.
    case invalidCoordinate
    /// The receiver's clock is off by an implausible time, in s, such as 1024 weeks.
    case clock(offset: Double)
    /// The implied speed since the last fix, in m/s, is too high.
    case jump(speed: Double)
}

extension LocationRejection: CustomStringConvertible {
    /// The reason as a phrase.
    public var description: String {
        switch self {
        case .inaccurate(let accuracy): return "accuracy only \(whole(accuracy)) m"
        case .near(let distance): return "only \(whole(distance)) m from the last accepted fix"
        case .stale(let age): return "\(whole(age)) s old"
        case .outOfOrder: return "not later than the previous fix"
        case .invalidCoordinate: return "invalid coordinate"
        case .clock(let offset):
            let weeks = (abs(offset) / 604_800).rounded()
            let rollovers = (weeks / 1024).rounded()
            let isRollover = rollovers >= 1 && abs(weeks - 1024 * rollovers) < 1
            let side = offset < 0 ? "behind" : "ahead"
            return "the receiver's clock is \(whole(weeks)) weeks \(side)" + (isRollover ? " (week rollover)" : "")
        case .jump(let speed): return "implausible jump, at \(whole(speed)) m/s"
        }
    }
}

/// Returns the value without decimals.
private func whole(_ value: Double) -> String { abs(value) < 1e15 ? "\(Int64(value.rounded()))" : "\(value)" }
