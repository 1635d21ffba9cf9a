public import LockstepModel
public import LockstepMotion
import LockstepSensors

/// Reports the steps, distance, pace, cadence and floors of the person who carries this device: live, or for a past interval.
///
/// Past steps are read from a ``/LockstepModel/SampleHistory``: the store of a collector, or the outbox of this
/// device's agent. Without a history, updates include only the steps taken after they were started.
public final class Pedometer: Sendable {
    /// The maximum duration of a row of steps, in µs. A row that overlaps an interval may end this much later.
    private static let maxRowDuration: Int64 = 60_000_000

    private let hub: SensorHub
    private let history: (any SampleHistory)?
    private let latest = LatestValue<PedometerData>()

    /// Creates a pedometer without subscriptions.
    /// - Parameter history: The past samples of this device; nil if they are not available.
    public init(hub: SensorHub, history: (any SampleHistory)? = nil) {
        self.hub = hub
        self.history = history
    }

    /// Whether steps are available. They need an accelerometer or a hardware step counter.
    public var isStepCountingAvailable: Bool { hub.streams.contains(.steps) }
    /// Whether distances are available. A hardware step counter does not provide them.
    public var isDistanceAvailable: Bool { isStepCountingAvailable && !isHardware }
    /// Whether the pace is available. A hardware step counter does not provide it.
    public var isPaceAvailable: Bool { isDistanceAvailable }
    /// Whether the cadence is available. A hardware step counter does not provide it.
    public var isCadenceAvailable: Bool { isDistanceAvailable }
    /// Whether floors are available. They need steps and a barometer.
    public var isFloorCountingAvailable: Bool { hub.streams.contains(.floors) }
    /// Whether a hardware step counter provides the steps.
    private var isHardware: Bool { hub.sensors().contains { $0.stream == .steps && $0.problem == nil } }

    /// The latest update; nil before the first one.
    public var pedometerData: PedometerData? { latest.value }
    /// The error that ended the updates of ``pedometerData``; nil after a stop.
    public var error: (any Error)? { latest.error }
    /// Whether ``pedometerData`` is being updated.
    public var isActive: Bool { latest.isActive }
    /// Starts updating ``pedometerData``.
    /// - Parameter start: The time from which steps are counted, now or in the past.
    public func startUpdates(from start: Timestamp) { latest.start(updates(from: start)) }
    /// Stops the updates and keeps the latest value.
    public func stopUpdates() { latest.stop() }

    /// Returns a sequence of totals since `start`.
    ///
    /// The first total includes the steps in the history. Each new row of live steps gives another total.
    /// - Parameter start: The time from which steps are counted, now or in the past.
    public func updates(from start: Timestamp) -> SensorUpdates<PedometerData> {
        let (hub, history) = (hub, history)
        let streams: [SensorStream] = isFloorCountingAvailable ? [.steps, .floors] : [.steps]
        return SensorUpdates {
            hub.updates(for: Dictionary(uniqueKeysWithValues: streams.map { ($0, .everything) }))
        } makeTransform: {
            var total: PedometerData?
            // The end of the last row of floors that is included.
            var floorEnd = start
            return { update in
                var blocks: [SampleBlock] = []
                // Read the history only with the first update. All later steps are live.
                if total == nil, let history {
                    let now = Moment.now().wall
                    for stream in streams {
                        blocks.append(try history.samples(of: stream, from: start, to: max(start, now)))
                    }
                }
                let noFloors = streams.contains(.floors) ? 0 : nil
                var before =
                    total
                    ?? PedometerData(
                        startDate: start, endDate: start, numberOfSteps: 0, distance: 0, floorsAscended: noFloors,
                        floorsDescended: noFloors)
                switch update {
                case .samples(let samples): blocks.append(samples)
                // Keep the total, and move its end so that later steps with earlier timestamps count.
                case .clockStepped:
                    before.endDate = min(before.endDate, Moment.now().wall)
                    floorEnd = min(floorEnd, Moment.now().wall)
                case .status: break
                }
                let after = blocks.reduce(before) { sum, rows in
                    guard rows.stream == .floors, let end = rows.times.last.map(Timestamp.init(microseconds:)) else {
                        return rows.stream == .steps ? sum.appending(rows) : sum
                    }
                    defer { floorEnd = max(floorEnd, end) }
                    return sum.addingFloors(rows, from: floorEnd, to: end)
                }
                defer { total = after }
                let isNew = after.endDate > before.endDate || after.floorsAscended != before.floorsAscended
                return isNew || after.floorsDescended != before.floorsDescended ? [after] : []
            }
        }
    }

    /// Returns the totals of the past interval from `start` to `end`. Floors are nil if none were climbed and this device
    /// has no barometer.
    /// - Throws: ``HistoryError`` if there is no history or the interval is empty, or an error if the history cannot
    ///   be read.
    public func data(from start: Timestamp, to end: Timestamp) throws -> PedometerData {
        guard let history else { throw HistoryError.noHistory }
        let rows = try history.samples(of: .steps, from: start, to: end + Self.maxRowDuration)
        guard let data = PedometerData(rows: rows, from: start, to: end) else {
            throw HistoryError.emptyInterval(start, end)
        }
        let floors = try history.samples(of: .floors, from: start, to: end)
        return isFloorCountingAvailable || !floors.isEmpty ? data.addingFloors(floors, from: start, to: end) : data
    }
}
