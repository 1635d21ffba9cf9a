import FoundationEssentials
public import LockstepModel
import LockstepSensors

/// How the machine's clocks stand: what the times in an outbox are worth at its next start.
public struct OutboxClock: Sendable, Hashable {
    /// The kernel's id of this boot; empty where it does not tell, and then no boot is known to be the same.
    public var bootID: String
    public var wall: Timestamp
    /// Wall time less boot time, in µs: it changes only when the wall clock is set.
    public var offset: Int64

    public init(bootID: String, wall: Timestamp, offset: Int64) {
        self.bootID = bootID
        self.wall = wall
        self.offset = offset
    }

    public static func now() -> OutboxClock {
        let moment = Moment.now()
        let bootID = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        return OutboxClock(
            bootID: bootID.filter { !$0.isWhitespace }, wall: moment.wall,
            offset: moment.wall.microseconds - moment.boot)
    }

    /// What happened between two runs.
    enum Change: Hashable {
        /// The clock ran on: the time line goes on, and ages hold.
        case steady
        /// The machine was started anew. The time line goes on, but nobody knows how right its clock was before, or
        /// is now: ages don't hold.
        case restarted
        /// The wall clock was set: another time line.
        case wasSet
    }

    /// - Parameters:
    ///   - earlier: the boot and the offset at the last run; nil where they are not known.
    ///   - newest: when the newest batch was written, in µs since 1970.
    func change(since earlier: (bootID: String, offset: Int64)?, newest: Int64?) -> Change {
        // The agent's own time line may be as far ahead of the wall clock as it slews.
        if let newest, newest > wall.microseconds + TimeLine.stepThreshold { return .wasSet }
        guard let earlier, !bootID.isEmpty, earlier.bootID == bootID else { return .restarted }
        let (step, overflow) = offset.subtractingReportingOverflow(earlier.offset)
        return overflow || step.magnitude > TimeLine.stepThreshold.magnitude ? .wasSet : .steady
    }
}
