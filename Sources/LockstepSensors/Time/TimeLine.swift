public import LockstepModel

/// The agent's time line: runs on the boot clock and is anchored to wall time.
///
/// Small wall-clock corrections are followed by slewing, at most 1 µs per ms, so that the line strictly increases. A
/// step of the wall clock moves the anchor at once, and the caller starts a new epoch.
public struct TimeLine: Sendable {
    /// The largest difference between wall clock and line that is slewed, in µs; a larger one is a step.
    public static let stepThreshold: Int64 = 500_000
    /// The largest difference that is ignored, in µs. It covers the delay between reading two clocks, and keeps the
    /// intervals between samples even.
    static let deadBand: Int64 = 200
    /// The slew rate in µs per second of boot time (1,000 ppm).
    static let slewPerSecond: Int64 = 1000

    /// The result of a comparison with the wall clock.
    public enum Observation: Sendable, Hashable {
        /// The wall clock was not stepped.
        case steady
        /// The wall clock was stepped, by this many µs.
        case stepped(by: Int64)
    }

    /// The wall time of the line minus boot time, in µs.
    private var offset: Int64
    /// The boot time of the last correction or comparison, in µs.
    private var observedAt: Int64
    private var isSlewing = false

    /// Creates a time line that is anchored at `moment`.
    public init(at moment: Moment) {
        offset = moment.wall.microseconds - moment.boot
        observedAt = moment.boot
    }

    /// Compares the line with the wall clock. Call it about once per second.
    public mutating func observe(_ moment: Moment) -> Observation {
        let error = moment.wall.microseconds - moment.boot - offset
        let elapsed = max(0, moment.boot - observedAt)
        guard abs(error) <= Self.stepThreshold else {
            offset += error
            observedAt = moment.boot
            return .stepped(by: error)
        }
        if abs(error) > Self.deadBand { isSlewing = true }
        guard isSlewing else {
            observedAt = moment.boot
            return .steady
        }
        let room = elapsed * Self.slewPerSecond / 1_000_000
        // Less than 1 µs: keep observedAt, so that the fractions accumulate until a later call.
        guard room > 0 else { return .steady }
        offset += min(max(error, -room), room)
        observedAt = moment.boot
        // Noise keeps the difference from remaining 0, so the slew ends when it reaches 0 once.
        if abs(error) <= room { isSlewing = false }
        return .steady
    }

    /// Returns the timestamp of a boot time in µs.
    public func timestamp(boot: Int64) -> Timestamp { Timestamp(microseconds: boot + offset) }
}

/// Assigns timestamps that strictly increase within each stream. Equal times are moved apart by 1 µs.
public struct SampleStamper: Sendable {
    private var last: [SensorStream: Int64] = [:]

    /// Creates a stamper without earlier timestamps.
    public init() {}

    /// Starts a new epoch after a clock step: later timestamps may be lower than earlier ones.
    public mutating func startEpoch() { last.removeAll() }

    /// Converts a block with boot times to the time line, including the column `start` of the stream `steps`.
    public mutating func stamp(_ block: SampleBlock, on line: TimeLine) -> SampleBlock {
        var newest = last[block.stream] ?? .min
        var columns = block.columns
        let startColumn = block.stream.columns.firstIndex { $0.name == "start" }
        var times: [Int64] = []
        for (index, boot) in block.times.enumerated() {
            let before = newest
            newest = max(line.timestamp(boot: boot).microseconds, newest == .min ? .min : newest + 1)
            times.append(newest)
            if let startColumn, let start = Int64(exactly: columns[startColumn][index]) {
                // The line may have slewed since the last sample, but intervals must stay disjoint.
                let stamped = max(line.timestamp(boot: start).microseconds, before)
                columns[startColumn][index] = Double(min(stamped, newest - 1))
            }
        }
        last[block.stream] = newest
        return SampleBlock(stream: block.stream, times: times, columns: columns)
    }
}

/// Detects suspends of the machine: during a suspend the boot clock advances and the monotonic clock does not.
public struct SuspendDetector: Sendable {
    /// The shortest suspend that is detected, in µs. Smaller differences result from reading two clocks.
    static let minDuration: Int64 = 1_000_000

    private var last: Moment

    /// Starts at `moment`.
    public init(at moment: Moment) { last = moment }

    /// Compares the advances of both clocks since the last call.
    /// - Returns: The boot time at which a suspend since the last call began, or nil.
    public mutating func observe(_ moment: Moment) -> Int64? {
        defer { last = moment }
        let suspended = (moment.boot - last.boot) - (moment.awake - last.awake)
        return suspended >= Self.minDuration ? last.boot : nil
    }
}
