import LockstepModel

/// Whether a receiver's time can be believed.
///
/// GPS counts weeks modulo 1024; a receiver that guesses the wrong cycle is off by 1024 weeks (19.6 years), often only
/// until it has heard enough. A time is not believed that is 1024 weeks (or a multiple, within a day) from the
/// device's, or whose distance from it has changed by as much since the last fix; that lies before the rollover of
/// April 2019, when no Lockstep was; or that is an hour ahead. When fixes go on like this in step with the device's
/// clock, it is the receiver's lasting error, or the device's: then it is subtracted, and they are believed.
struct ReceiverClock: Sendable, Hashable {
    enum Verdict: Hashable {
        /// The time without the receiver's lasting error.
        case believed(Timestamp)
        /// By so many µs ahead of the device's.
        case off(Int64)
    }

    static let rollover: Int64 = 1024 * 7 * 86_400_000_000
    /// 2019-04-07.
    private static let earliest = Timestamp(microseconds: 1_554_595_200_000_000)
    private static let nearRollover: Int64 = 86_400_000_000
    private static let mostAhead: Int64 = 3_600_000_000
    /// µs by which errors may differ and be the same.
    private static let sameError: Int64 = 10_000_000

    /// How many fixes in a row with the same error make it a lasting one.
    let confirmations: Int
    private var lasting: Int64 = 0
    private var lastBelieved: Int64?
    private var suspect: Suspect?

    private struct Suspect: Hashable {
        var error: Int64
        var count: Int
    }

    init(confirmations: Int) { self.confirmations = confirmations }

    mutating func judge(_ fixTime: Timestamp, at time: Timestamp) -> Verdict {
        if let verdict = believe(fixTime, without: lasting, at: time) { return verdict }
        // A receiver may come to know better.
        if lasting != 0, let verdict = believe(fixTime, without: 0, at: time) { return verdict }
        let error = fixTime - time
        var count = 1
        if let suspect, abs(suspect.error - error) <= Self.sameError { count = suspect.count + 1 }
        guard count >= confirmations else {
            suspect = Suspect(error: error, count: count)
            return .off(error)
        }
        let cycles = Self.cycles(error)
        // Of a whole cycle the rest is the fix's true age.
        lasting = cycles != 0 ? cycles * Self.rollover : error
        suspect = nil
        lastBelieved = error - lasting
        return .believed(fixTime - lasting)
    }

    private mutating func believe(_ fixTime: Timestamp, without error: Int64, at time: Timestamp) -> Verdict? {
        let corrected = fixTime - error
        let ahead = corrected - time
        guard corrected >= Self.earliest || error != 0, ahead <= Self.mostAhead, Self.cycles(ahead) == 0 else {
            return nil
        }
        if let lastBelieved, error == lasting, Self.cycles(ahead - lastBelieved) != 0 { return nil }
        lasting = error
        lastBelieved = ahead
        suspect = nil
        return .believed(corrected)
    }

    /// By how many whole cycles of 1024 weeks `difference` is off; 0 where it is near none.
    private static func cycles(_ difference: Int64) -> Int64 {
        let cycles = (Double(difference) / Double(rollover)).rounded()
        let rest = difference - Int64(cycles) * rollover
        return abs(rest) <= nearRollover ? Int64(cycles) : 0
    }
}
