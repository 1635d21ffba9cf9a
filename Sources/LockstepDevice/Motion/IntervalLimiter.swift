import LockstepModel

/// Passes one sample per interval, or all samples if they do not arrive faster than that.
struct IntervalLimiter {
    /// The interval in µs.
    private let interval: Double
    /// The number of the interval that contains the last sample.
    private var slot = Int64.min
    private var last: Timestamp?
    /// The mean time between samples, in µs.
    private var spacing: Double

    /// - Parameter interval: The interval in s, above 0.
    init(interval: Double) {
        self.interval = interval * 1e6
        spacing = 0
    }

    mutating func accepts(_ time: Timestamp) -> Bool {
        if let last {
            let elapsed = Double(time - last)
            spacing += (elapsed - spacing) / (spacing == 0 ? 1 : 16)
        }
        last = time
        let current = Int64((Double(time.microseconds) / interval).rounded(.down))
        defer { slot = current }
        // Jitter may put two samples of a slow sensor into one slot and none into the next; both are passed.
        return current != slot || spacing > 0.9 * interval
    }
}
