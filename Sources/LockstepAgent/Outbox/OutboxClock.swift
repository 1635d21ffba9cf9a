import FoundationEssentials
public import LockstepModel
import LockstepSensors

/// The state of the machine's clocks. At the next start, it shows whether the times in an outbox are still valid.
public struct OutboxClock: Sendable, Hashable {
    /// The kernel's id of this boot, or an empty string if unknown. An unknown id never equals another id.
    public var bootID: String
    /// The wall time.
    public var wall: Timestamp
    /// Wall time minus boot time in µs. It changes only when the wall clock is set.
    public var offset: Int64

    /// Creates a state.
    public init(bootID: String, wall: Timestamp, offset: Int64) {
        self.bootID = bootID
        self.wall = wall
        self.offset = offset
    }

    /// Returns the current state.
    public static func now() -> OutboxClock {
        let moment = Moment.now()
        let bootID = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        return OutboxClock(
            bootID: bootID.filter { !$0.isWhitespace }, wall: moment.wall,
            offset: moment.wall.microseconds - moment.boot)
    }

    /// The change of the clocks between two runs.
    enum Change: Hashable {
        /// The clock was not set: the time line continues, and the ages of batches are known.
        case steady
        /// The machine was restarted. The time line continues, but its clock may have been wrong before or may be wrong
        /// now: the ages of batches are unknown.
        case restarted
        /// The wall clock was set: a new time line starts.
        case wasSet
    }

    /// Returns the change since the last run.
    /// - Parameters:
    ///   - earlier: the boot id and the offset of the last run, or nil if unknown.
    ///   - newest: the time at which the newest batch was written, in µs since 1970.
    func change(since earlier: (bootID: String, offset: Int64)?, newest: Int64?) -> Change {
        // While the time line slews, it may be ahead of the wall clock by up to the threshold.
        if let newest, newest > wall.microseconds + TimeLine.stepThreshold { return .wasSet }
        guard let earlier, !bootID.isEmpty, earlier.bootID == bootID else { return .restarted }
        let (step, overflow) = offset.subtractingReportingOverflow(earlier.offset)
        return overflow || step.magnitude > TimeLine.stepThreshold.magnitude ? .wasSet : .steady
    }
}
