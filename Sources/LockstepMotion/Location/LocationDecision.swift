/// What came of a fix, or of there being none.
public enum LocationDecision: Sendable, Hashable {
    /// A fix for whoever asked; `previous` is the one accepted before.
    case accepted(previous: LocationFix?, current: LocationFix)
    /// A fix that is not for whoever asked, or not to be believed.
    case withheld(LocationWithholding)
    case failed(LocationError)
}

/// Why a fix is not passed on.
public enum LocationWithholding: Sendable, Hashable {
    /// Its accuracy, in m, is worse than the one desired.
    case inaccurate(Double)
    /// It lies so many m from the last one that was accepted, less than the distance filter.
    case near(Double)
    /// The position is so many s old, and old ones are refused.
    case stale(Double)
    /// Not later than the one before.
    case notLater
    /// Not a place on the earth; or latitude and longitude 0 of unknown accuracy, as receivers say that know nothing.
    case noPlace
    /// The receiver's clock is off by so many s: it says a time that can't be, such as 1024 weeks ago.
    case clock(off: Double)
    /// To get there since the last fix would have taken so many m/s.
    case jump(speed: Double)
}

extension LocationWithholding: CustomStringConvertible {
    public var description: String {
        switch self {
        case .inaccurate(let accuracy): return "accurate to \(whole(accuracy)) m only"
        case .near(let distance): return "\(whole(distance)) m from the last"
        case .stale(let age): return "\(whole(age)) s old"
        case .notLater: return "not later than the one before"
        case .noPlace: return "not a place"
        case .clock(let off):
            let weeks = (abs(off) / 604_800).rounded()
            let rollovers = (weeks / 1024).rounded()
            let isRollover = rollovers >= 1 && abs(weeks - 1024 * rollovers) < 1
            let side = off < 0 ? "behind" : "ahead"
            return "the receiver's clock is \(whole(weeks)) weeks \(side)" + (isRollover ? " (week rollover)" : "")
        case .jump(let speed): return "a jump, at \(whole(speed)) m/s"
        }
    }
}

/// Without decimals.
private func whole(_ value: Double) -> String { abs(value) < 1e15 ? "\(Int64(value.rounded()))" : "\(value)" }
