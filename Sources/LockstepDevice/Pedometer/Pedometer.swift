public import LockstepModel
public import LockstepMotion
import LockstepSensors

/// Steps, distance, pace and cadence: live from a start date, and over a past interval.
///
/// The past comes from a ``SampleHistory``: the store of a collector, or the outbox of this device's agent. Without one
/// there is only what is counted while a sequence of updates is read.
public final class Pedometer: Sendable {
    /// Rows may end after an interval that they have a part in, by so many µs.
    private static let maxRowDuration: Int64 = 60_000_000

    private let hub: SensorHub
    private let history: (any SampleHistory)?
    private let latest = LatestValue<PedometerData>()

    /// - Parameter history: this device's past; nil where none is kept.
    public init(hub: SensorHub, history: (any SampleHistory)? = nil) {
        self.hub = hub
        self.history = history
    }

    /// Whether there is an accelerometer, or a step counter in hardware.
    public var isStepCountingAvailable: Bool { hub.streams.contains(.steps) }
    /// Whether distances are told: a step counter in hardware alone can't.
    public var isDistanceAvailable: Bool { isStepCountingAvailable && !isHardware }
    /// Whether the pace is told; as distances.
    public var isPaceAvailable: Bool { isDistanceAvailable }
    /// Whether the cadence is told; as distances.
    public var isCadenceAvailable: Bool { isDistanceAvailable }
    private var isHardware: Bool { hub.sensors().contains { $0.stream == .steps && $0.problem == nil } }

    /// The latest update since the start; nil before the first.
    public var pedometerData: PedometerData? { latest.value }
    /// What ended the updates of ``pedometerData``, if it was not a stop.
    public var error: (any Error)? { latest.error }
    /// Whether ``pedometerData`` is being updated.
    public var isActive: Bool { latest.isActive }
    /// Begins to keep ``pedometerData`` up to date.
    /// - Parameter start: from when on steps are counted, now or in the past.
    public func startUpdates(from start: Timestamp) { latest.start(updates(from: start)) }
    /// Ends that; the latest stays.
    public func stopUpdates() { latest.stop() }

    /// All that was walked since `start`, again whenever steps have been taken: first of the past, if there is any.
    /// - Parameter start: from when on steps are counted, now or in the past.
    public func updates(from start: Timestamp) -> SensorUpdates<PedometerData> {
        let (hub, history) = (hub, history)
        return SensorUpdates {
            hub.updates(for: [.steps: .everything])
        } makeTransform: {
            var walked: PedometerData?
            return { update in
                var news: [SampleBlock] = []
                // Once, and only now: what comes later is live.
                if walked == nil, let history {
                    let now = Moment.now().wall
                    news.append(try history.samples(of: .steps, from: start, to: max(start, now)))
                }
                var before = walked ?? PedometerData(startDate: start, endDate: start, numberOfSteps: 0, distance: 0)
                switch update {
                case .samples(let samples): news.append(samples)
                // What was walked stays; what comes now may be earlier, and counts.
                case .clockStepped: before.endDate = min(before.endDate, Moment.now().wall)
                case .status: break
                }
                let after = news.reduce(before) { $0.followed(by: $1) }
                walked = after
                return after.endDate > before.endDate ? [after] : []
            }
        }
    }

    /// What was walked from `start` to `end`, as far as it is known.
    /// - Throws: ``PedometerError``; what keeps the past from being read.
    public func data(from start: Timestamp, to end: Timestamp) throws -> PedometerData {
        guard let history else { throw PedometerError.noHistory }
        let rows = try history.samples(of: .steps, from: start, to: end + Self.maxRowDuration)
        guard let data = PedometerData(rows: rows, from: start, to: end) else {
            throw PedometerError.emptyInterval(start, end)
        }
        return data
    }
}

/// Why a pedometer can't tell the past.
public enum PedometerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The pedometer was made without a history.
    case noHistory
    /// The interval does not end after it begins.
    case emptyInterval(Timestamp, Timestamp)

    public var description: String {
        switch self {
        case .noHistory: "no past is kept: give the pedometer a history, such as a store or an agent's outbox"
        case .emptyInterval(let start, let end): "the interval ends (\(end)) not after it begins (\(start))"
        }
    }
}
