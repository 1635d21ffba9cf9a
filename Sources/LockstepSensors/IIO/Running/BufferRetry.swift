/// The times at which a session retries what it could not get when it was opened: its buffer, or some of its sensors.
///
/// The kernel announces a device before udev has set the rights of its files. Therefore a device that has just been
/// connected can often only be polled. Each device event restarts the retries with the shortest delay.
package struct BufferRetry: Sendable, Hashable {
    /// The delay after the first failure, in µs. It doubles with each further failure.
    private let minDelay: Int64
    /// The longest delay, in µs.
    private let maxDelay: Int64
    /// The shortest time between two attempts, in µs, however many events arrive.
    private let minSpacing: Int64

    /// The number of device events that have been handled.
    private var events = 0
    private var delay: Int64
    private var lastAttempt: Int64?
    /// The time of the next attempt, in µs of the boot clock.
    package private(set) var deadline: Int64 = .max

    package init(minDelay: Int64 = 100_000, maxDelay: Int64 = 60_000_000, minSpacing: Int64 = 50_000) {
        self.minDelay = minDelay
        self.maxDelay = maxDelay
        self.minSpacing = minSpacing
        delay = minDelay
    }

    /// Schedules the first attempt of a session.
    /// - Parameters:
    ///   - events: the number of device events before the session was opened.
    ///   - now: the time at which it was opened without all that it could have, in µs of the boot clock.
    mutating func begin(events: Int, at now: Int64) {
        self.events = events
        didFail(at: now)
    }

    /// Handles new device events, and returns whether the next attempt is due at `now`.
    /// - Parameter events: the number of device events so far.
    mutating func isDue(events: Int, at now: Int64) -> Bool {
        if events != self.events { noteEvent(at: now) }
        self.events = events
        return isDue(at: now)
    }

    /// Returns whether the next attempt is due at `now`, in µs of the boot clock.
    package func isDue(at now: Int64) -> Bool { now >= deadline }

    /// Schedules the next attempt after one that failed at `now`.
    package mutating func didFail(at now: Int64) {
        lastAttempt = now
        deadline = now + delay
        delay = min(2 * delay, maxDelay)
    }

    /// Handles a device event at `now`: the next attempt follows at once, and further ones with the shortest delay.
    package mutating func noteEvent(at now: Int64) {
        delay = minDelay
        deadline = min(deadline, max(now, lastAttempt.map { $0 + minSpacing } ?? now))
    }
}
