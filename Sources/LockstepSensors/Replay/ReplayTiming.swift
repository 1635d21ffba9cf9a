/// When the rows of a recording are due, and what they are stamped with: pure arithmetic in µs.
package struct ReplayTiming: Sendable {
    package let speed: ReplaySpeed
    package let stamping: Stamping
    /// The boot clock when the replay began.
    package let began: Int64
    /// Time of the first and of the last row as they stand in the file.
    package let first: Int64
    package let last: Int64

    private var lastStamp = Int64.min

    package init(speed: ReplaySpeed, stamping: Stamping, began: Int64, first: Int64, last: Int64) {
        self.speed = speed
        self.stamping = stamping
        self.began = began
        self.first = first
        self.last = last
    }

    /// When, on the boot clock, the row of `time` is due; nil where there is nothing to wait for.
    package func due(_ time: Int64) -> Int64? {
        guard case .times(let factor) = speed else { return nil }
        return began + Self.whole(Double(time - first) / factor)
    }

    /// How long, in µs, to wait for the row of `time`; nil where it is due.
    /// - Parameters:
    ///   - boot: the present on the boot clock.
    ///   - linger: the shortest wait: rows that are due by then come together.
    package func pause(before time: Int64, at boot: Int64, linger: Int64) -> Int64? {
        guard let due = due(time), due > boot else { return nil }
        return max(due - boot, linger)
    }

    /// The stamp of the row of `time`: rows of the same time are put 1 µs apart.
    package mutating func stamp(_ time: Int64) -> Int64 {
        let stamp = stamping == .own ? time : anchor + (time - first)
        lastStamp = lastStamp == .min ? stamp : max(stamp, lastStamp + 1)
        return lastStamp
    }

    /// The stamp of the first row where stamps are moved to the present. A recording played faster than it was
    /// recorded begins in the past, so that it ends at the present and no row lies in the future.
    private var anchor: Int64 {
        let duration = max(0, last - first)
        let playing =
            switch speed {
            case .times(let factor): Self.whole(Double(duration) / factor)
            case .maximum: Int64(0)
            }
        return began + min(0, playing - duration)
    }

    /// Rounded down, and within what can be added to a clock: a speed of 1e-300 must wait, not trap.
    private static func whole(_ microseconds: Double) -> Int64 {
        Int64(min(max(microseconds, -9e15), 9e15).rounded(.down))
    }
}
