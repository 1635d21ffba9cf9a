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

    /// The change of the wall clock between two runs.
    public enum Change: Sendable, Hashable {
        /// The time line continues.
        case steady
        /// The wall clock was set: a new time line starts.
        case wasSet
        /// The wall clock is earlier than samples of the last run: a new time line starts.
        case isEarlier(than: Timestamp)
    }

    /// Returns whether the machine was not restarted since the last run, so that its boot clock has continued.
    func isSameBoot(as earlier: (bootID: String, offset: Int64)?) -> Bool {
        !bootID.isEmpty && earlier?.bootID == bootID
    }

    /// Returns the change since the last run.
    ///
    /// After a restart of the machine the time line continues, unless the clock is earlier than it was.
    /// - Parameters:
    ///   - earlier: the boot id and the offset of the last run, or nil if unknown.
    ///   - newest: the time of the newest sample in the epoch, in µs since 1970.
    func change(since earlier: (bootID: String, offset: Int64)?, newest: Int64?) -> Change {
        if let earlier, isSameBoot(as: earlier) {
            let (step, overflow) = offset.subtractingReportingOverflow(earlier.offset)
            if overflow || step.magnitude > TimeLine.stepThreshold.magnitude { return .wasSet }
        }
        // Within an epoch, times increase. This includes a time line that was ahead of the wall clock while it slewed.
        if let newest, newest > wall.microseconds { return .isEarlier(than: Timestamp(microseconds: newest)) }
        return .steady
    }
}
