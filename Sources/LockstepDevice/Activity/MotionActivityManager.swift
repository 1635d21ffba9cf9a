public import LockstepModel
public import LockstepMotion
import LockstepSensors

/// Reports what the person with this device is doing: live, or in a past interval.
///
/// Past activities are read from a ``/LockstepModel/SampleHistory``: the store of a collector, or the outbox of this
/// device's agent.
public final class MotionActivityManager: Sendable {
    /// The longest time before an interval in which the activity of its start is looked for, in µs: a day.
    private static let lookBack: Int64 = 86_400_000_000
    /// The longest time after an interval in which an activity that began in it is recognised, in µs.
    private static let maxDelay: Int64 = 60_000_000

    private let hub: SensorHub
    private let history: (any SampleHistory)?
    private let latest = LatestValue<MotionActivity>()

    /// Creates a manager without subscriptions.
    /// - Parameter history: The past samples of this device; nil if they are not available.
    public init(hub: SensorHub, history: (any SampleHistory)? = nil) {
        self.hub = hub
        self.history = history
    }

    /// Whether activities are available. They need an accelerometer.
    public var isActivityAvailable: Bool { hub.streams.contains(.activity) }

    /// The latest activity; nil before the first one is known.
    public var motionActivity: MotionActivity? { latest.value }
    /// The error that ended the updates of ``motionActivity``; nil after a stop.
    public var error: (any Error)? { latest.error }
    /// Whether ``motionActivity`` is being updated.
    public var isActive: Bool { latest.isActive }
    /// Starts updating ``motionActivity``.
    public func startActivityUpdates() { latest.start(activityUpdates()) }
    /// Stops the updates and keeps the latest activity.
    public func stopActivityUpdates() { latest.stop() }

    /// Returns the activities from now on: one for each change, and one when its confidence grows.
    public func activityUpdates() -> SensorUpdates<MotionActivity> {
        let hub = hub
        return SensorUpdates {
            hub.updates(for: [.activity: .everything])
        } makeTransform: {
            { update in
                guard case .samples(let samples) = update else { return [] }
                return samples.times.indices.compactMap { MotionActivity(row: samples.values(at: $0)) }
            }
        }
    }

    /// Returns the activities of the past interval from `start` to `end`, in order of their start. The first one may have
    /// started before. Each has the greatest confidence that it reached.
    /// - Throws: ``HistoryError`` if there is no history or the interval is empty, or an error if the history cannot be read.
    public func activities(from start: Timestamp, to end: Timestamp) throws -> [MotionActivity] {
        guard let history else { throw HistoryError.noHistory }
        guard start < end else { throw HistoryError.emptyInterval(start, end) }
        let rows = try history.samples(of: .activity, from: start - Self.lookBack, to: end + Self.maxDelay)
        var activities: [MotionActivity] = []
        for index in rows.times.indices {
            guard let next = MotionActivity(row: rows.values(at: index)), next.startDate < end else { continue }
            let isSurer = activities.last?.startDate == next.startDate
            if !activities.isEmpty, isSurer || next.startDate <= start { activities.removeLast() }
            activities.append(next)
        }
        return activities
    }
}
