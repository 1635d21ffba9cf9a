/// The retries of one session: ``BufferRetry`` with the device events that it has handled.
struct RetrySchedule {
    private var retry: BufferRetry
    /// The number of device events that have been handled.
    private var events: Int

    /// - Parameters:
    ///   - retry: The delays, before the first failure.
    ///   - events: The number of device events before the session was opened.
    ///   - time: The time at which the session was opened without all it could have, in µs of the boot clock.
    init(_ retry: BufferRetry, events: Int, openedAt time: Int64) {
        self.retry = retry
        self.events = events
        self.retry.didFail(at: time)
    }

    /// The time of the next attempt, in µs of the boot clock.
    var deadline: Int64 { retry.deadline }

    /// Handles new device events, and returns whether the next attempt is due at `now`.
    /// - Parameter events: The number of device events so far.
    mutating func isDue(events: Int, at now: Int64) -> Bool {
        if events != self.events { retry.noteEvent(at: now) }
        self.events = events
        return retry.isDue(at: now)
    }

    /// Schedules the next attempt.
    mutating func didFail(at now: Int64) { retry.didFail(at: now) }
}
