/// Computes the delivery times and the timestamps of a recording's rows. All times are in µs.
package struct ReplayTiming: Sendable {
    /// The playback speed.
    package let speed: ReplaySpeed
    /// The clock of the timestamps.
    package let stamping: Stamping
    /// The start of the replay on the boot clock.
    package let began: Int64
    /// The time of the first row in the file.
    package let first: Int64
    /// The time of the last row in the file.
    package let last: Int64

    private var lastStamp = Int64.min

    package init(speed: ReplaySpeed, stamping: Stamping, began: Int64, first: Int64, last: Int64) {
        self.speed = speed
        self.stamping = stamping
        self.began = began
        self.first = first
        self.last = last
    }

    /// Returns the delivery time of the row with `time` on the boot clock; nil if it is delivered at once.
    package func deadline(_ time: Int64) -> Int64? {
        guard case .times(let factor) = speed else { return nil }
        return began + Self.whole(Double(time - first) / factor)
    }

    /// Returns how long to wait before the row with `time` is delivered; nil if it is due.
    /// - Parameters:
    ///   - boot: The current time on the boot clock.
    ///   - linger: The shortest wait, so that rows are delivered together.
    package func pause(before time: Int64, at boot: Int64, linger: Int64) -> Int64? {
        guard let deadline = deadline(time), deadline > boot else { return nil }
        return max(deadline - boot, linger)
    }

    /// Returns the timestamp of the row with `time`. Rows with equal times are 1 µs apart.
    package mutating func stamp(_ time: Int64) -> Int64 {
        let stamp = stamping == .own ? time : anchor + (time - first)
        lastStamp = lastStamp == .min ? stamp : max(stamp, lastStamp + 1)
        return lastStamp
    }

    /// The timestamp of the first row of a recording that is shifted to the present. A recording that is played faster
    /// than recorded starts in the past, so that no row lies in the future.
    private var anchor: Int64 {
        let duration = max(0, last - first)
        let playing =
            switch speed {
            case .times(let factor): Self.whole(Double(duration) / factor)
            case .maximum: Int64(0)
            }
        return began + min(0, playing - duration)
    }

    /// Rounds down and limits the value, so that a tiny speed such as 1e-300 waits long instead of overflowing.
    private static func whole(_ microseconds: Double) -> Int64 {
        Int64(min(max(microseconds, -9e15), 9e15).rounded(.down))
    }
}
