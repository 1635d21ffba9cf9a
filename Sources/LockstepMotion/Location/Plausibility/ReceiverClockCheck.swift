import LockstepModel

/// Checks whether a receiver's time is plausible.
///
/// GPS counts weeks modulo 1024. A receiver that assumes the wrong cycle is off by 1024 weeks (19.6 years), often only
/// for the first fixes. A time is implausible if it differs from the device's by 1024 weeks (or a
/// multiple, within a day), if that difference has changed by as much since the last fix, if it lies before the
/// rollover of April 2019, or if it is more than an hour ahead. If further fixes have the same error, it is a
/// persistent error of the receiver's or the device's clock. It is then subtracted and the fixes are accepted.
struct ReceiverClockCheck: Sendable, Hashable {
    enum Verdict: Hashable {
        /// The time is plausible; the value is corrected by the receiver's persistent error.
        case plausible(Timestamp)
        /// The time is off; the value is the difference to the device's clock, in µs.
        case off(Int64)
    }

    /// The GPS week cycle, in µs.
    static let rollover: Int64 = 1024 * 7 * 86_400_000_000
    /// The last rollover: 2019-04-07.
    private static let earliest = Timestamp(microseconds: 1_554_595_200_000_000)
    /// The largest difference from whole cycles that counts as a rollover, in µs: one day.
    private static let nearRollover: Int64 = 86_400_000_000
    /// How far the receiver's clock may be ahead, in µs: one hour.
    private static let maxAhead: Int64 = 3_600_000_000
    /// The largest difference between errors that count as equal, in µs.
    private static let sameError: Int64 = 10_000_000

    /// The number of consecutive fixes with the same error that make it persistent.
    let confirmations: Int
    private var persistentError: Int64 = 0
    private var lastAcceptedError: Int64?
    private var suspect: Suspect?

    private struct Suspect: Hashable {
        var error: Int64
        var count: Int
    }

    init(confirmations: Int) { self.confirmations = confirmations }

    /// Checks the receiver's time of a fix that arrived at `time`.
    mutating func check(_ fixTime: Timestamp, at time: Timestamp) -> Verdict {
        if let verdict = accept(fixTime, without: persistentError, at: time) { return verdict }
        // The receiver may have corrected its clock.
        if persistentError != 0, let verdict = accept(fixTime, without: 0, at: time) { return verdict }
        let error = fixTime - time
        var count = 1
        if let suspect, abs(suspect.error - error) <= Self.sameError { count = suspect.count + 1 }
        guard count >= confirmations else {
            suspect = Suspect(error: error, count: count)
            return .off(error)
        }
        let cycles = Self.cycles(error)
        // If the error consists of whole cycles, the remainder is the actual age of the fix.
        persistentError = cycles != 0 ? cycles * Self.rollover : error
        suspect = nil
        lastAcceptedError = error - persistentError
        return .plausible(fixTime - persistentError)
    }

    private mutating func accept(_ fixTime: Timestamp, without error: Int64, at time: Timestamp) -> Verdict? {
        let corrected = fixTime - error
        let ahead = corrected - time
        guard corrected >= Self.earliest || error != 0, ahead <= Self.maxAhead, Self.cycles(ahead) == 0 else {
            return nil
        }
        if let lastAcceptedError, error == persistentError, Self.cycles(ahead - lastAcceptedError) != 0 { return nil }
        persistentError = error
        lastAcceptedError = ahead
        suspect = nil
        return .plausible(corrected)
    }

    /// Returns the number of whole cycles of 1024 weeks closest to `difference`, or 0 if it is not close to any.
    private static func cycles(_ difference: Int64) -> Int64 {
        let cycles = (Double(difference) / Double(rollover)).rounded()
        let rest = difference - Int64(cycles) * rollover
        return abs(rest) <= nearRollover ? Int64(cycles) : 0
    }
}
