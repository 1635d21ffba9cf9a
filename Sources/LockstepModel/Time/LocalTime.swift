import Glibc

extension Timestamp {
    /// The offset of the local time zone from UTC at this time, in µs. `TZ` sets the zone of the process.
    public var localOffset: Int64 {
        tzset()
        // The C library's years are 32-bit numbers.
        var seconds = time_t(max(-1 << 45, min(1 << 45, microseconds / 1_000_000)))
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : Int64(parts.tm_gmtoff) * 1_000_000
    }

    /// Returns the time for a person who reads it soon: `10:30:05`, or on another day `2026-11-20 10:30:05`.
    /// - Parameters:
    ///   - now: the time of reading.
    ///   - offset: returns the offset of the reader's zone at a time, in µs.
    public func short(at now: Timestamp, offset: (Timestamp) -> Int64 = { $0.localOffset }) -> String {
        func text(_ time: Timestamp) -> Substring {
            let (shifted, overflow) = time.microseconds.addingReportingOverflow(offset(time))
            return (overflow ? time : Timestamp(microseconds: shifted)).description.dropLast(8)
        }
        let (own, today) = (text(self), text(now))
        return own.dropLast(9) == today.dropLast(9)
            ? String(own.suffix(8)) : "\(own.dropLast(9)) \(own.suffix(8))"
    }
}
