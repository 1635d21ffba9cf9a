import LockstepCommandLine
import LockstepModel

extension DeviceDiagnosis {
    /// The age of live samples above which their times are probably wrong, in µs: a year.
    private static let maxAge: Int64 = 365 * 86_400_000_000
    /// The earliest plausible time: 2000-01-01.
    private static let earliest = Timestamp(microseconds: 946_684_800_000_000)

    /// Returns a warning if the times of a device are years off, for example because they are in seconds.
    /// - Parameters:
    ///   - newest: the time of a live sample that has arrived now, or nil if none has.
    ///   - since: the time of the last change of its state, which is the time of a sample.
    static func implausibleTime(newest: Timestamp?, since: Timestamp?, now: Timestamp) -> Finding? {
        let time: Timestamp
        if let newest, now - newest > maxAge {
            time = newest
        } else if let since, since < earliest {
            time = since
        } else {
            return nil
        }
        return Finding(
            .warning, "", "its live samples have times of \(time.shown)",
            "send times in µs since 1970, not in s or ms; if it does, set its clock")
    }
}
