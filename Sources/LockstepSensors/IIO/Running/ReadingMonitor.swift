import LockstepModel

/// Checks the raw readings of a sensor: rejects readings that are not measurements and reports reduced quality.
package struct ReadingMonitor: Sendable {
    /// The number of consecutive all-zero readings before a warning.
    package static let zerosBeforeWarning = 20
    /// How long a warning lasts after its last cause, in µs.
    package static let warningDuration: Int64 = 5_000_000

    /// The name of the device for users, such as `iio:device0 (bmi160)`.
    private let label: String
    private let quantity: IIOQuantity
    /// The smallest and largest raw value; nil if unknown.
    private let range: ClosedRange<Double>?
    /// Permanent limitations to report.
    private var notes: [String]

    private var zeros = 0
    /// Whether a measurement has been accepted in this session.
    private var isAlive = false
    /// Whether the sensor has ever delivered a reading other than zero.
    package private(set) var isProven: Bool
    private var saturated: (channels: String, at: Int64)?
    private var late: (count: Int, at: Int64)?
    private var now: Int64 = .min

    /// - Parameter isProven: Whether the sensor has delivered a reading other than zero since it was found.
    package init(
        label: String, quantity: IIOQuantity, range: ClosedRange<Double>?, notes: [String] = [], isProven: Bool = false
    ) {
        self.label = label
        self.quantity = quantity
        self.range = range
        self.notes = notes
        self.isProven = isProven
    }

    /// Checks the raw reading at `time`, in µs.
    /// - Returns: Whether it is a measurement.
    package mutating func accept(_ raw: SIMD3<Double>, at time: Int64) -> Bool {
        now = max(now, time)
        guard raw != .zero else {
            zeros += 1
            // A gyroscope at rest may read zero. It is known to work only after another reading.
            guard isProven, quantity.canBeZero else { return false }
            isAlive = true
            return true
        }
        zeros = 0
        isAlive = true
        isProven = true
        if let range {
            let labels = quantity.channelLabels
            let channels = labels.indices.filter { raw[$0] <= range.lowerBound || raw[$0] >= range.upperBound }
            if !channels.isEmpty { saturated = (channels.map { labels[$0] }.joined(separator: ", "), time) }
        }
        return true
    }

    /// Counts a sample that was dropped at `time`, in µs, because its timestamp was not later than the previous one.
    package mutating func noteLateSample(at time: Int64) {
        now = max(now, time)
        late = ((late?.count ?? 0) + 1, time)
    }

    package mutating func setNotes(_ notes: [String]) { self.notes = notes }

    /// Adds a permanent limitation to report.
    package mutating func note(_ text: String) {
        if !notes.contains(text) { notes.append(text) }
    }

    /// The status of the sensor; nil before its first reading.
    package var status: SourceStatus? {
        if zeros >= Self.zerosBeforeWarning, !isAlive || !quantity.canBeZero {
            return .waiting(
                "\(label) reads zero on all axes: check the sensor's power and wiring; zeros are not published")
        }
        guard isAlive else { return nil }
        var warnings = notes
        if let saturated, now - saturated.at < Self.warningDuration, let range {
            let ends = "\(Int64(exactly: range.lowerBound) ?? .min) or \(Int64(exactly: range.upperBound) ?? .max)"
            warnings.append(
                "\(saturated.channels) at the end of the range (\(ends)): choose a larger \(quantity.prefix)_scale")
        }
        if let late, now - late.at < Self.warningDuration {
            warnings.append(
                counted(late.count, "sample") + " dropped because of timestamps that did not advance")
        }
        return warnings.isEmpty ? .running : .degraded("\(label): \(warnings.joined(separator: "; "))")
    }
}

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
