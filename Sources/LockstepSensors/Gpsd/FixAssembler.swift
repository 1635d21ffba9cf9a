import LockstepModel

/// Reports in, fixes out: all reports of one time are one fix.
///
/// A receiver tells one fix in several sentences, and gpsd reports it after each that adds something. The reports of a
/// time are gathered until one of another time comes, or none has come for ``deadline``; then they are given as one,
/// with all that any of them knew. A place without a time belongs to the time that follows within the deadline. A time
/// that was given is not given again. Times of arrival are µs of any clock that does not run backward; they are
/// parameters.
package struct FixAssembler: Sendable {
    /// What came of the reports.
    package enum Output: Sendable, Hashable {
        /// A fix with all that is known of it, and when its first report arrived.
        case fix(PositionReport, arrived: Int64)
        /// There is no fix; said once, until there is one again.
        case noFix(PositionReport, arrived: Int64)
        /// There was a fix, and none of a new time for `age` µs: said at ``staleAfter`` and each time the age doubles.
        case stale(age: Int64)
    }

    /// How long, in µs, a fix waits for another report of its time.
    package let deadline: Int64
    /// The age of the last fix, in µs, from which on it is stale.
    package let staleAfter: Int64

    private var pending: (report: PositionReport, arrived: Int64, last: Int64)?
    /// Times given lately: a receiver of several systems may tell its times in turns.
    private var given: [Timestamp] = []
    private var state = State.unknown

    private enum State {
        case unknown
        case noFix
        case fix(arrived: Int64, staleAt: Int64)
    }

    package init(deadline: Int64 = 300_000, staleAfter: Int64 = 10_000_000) {
        self.deadline = deadline
        self.staleAfter = staleAfter
    }

    /// Takes a report that arrived at `now`.
    package mutating func receive(_ report: PositionReport, at now: Int64) -> [Output] {
        var outputs = advance(to: now)
        if let time = report.time, given.contains(time) { return outputs }
        if pending != nil, pending?.report.time == report.time {
            pending?.report.fill(from: report)
            pending?.last = now
        } else if let waiting = pending, waiting.report.time == nil, waiting.report.isFix, report.time != nil {
            // At the start of a fix a receiver tells the place first and the time in its next sentence.
            var timed = report
            timed.fill(from: waiting.report)
            pending = (timed, waiting.arrived, now)
        } else {
            outputs += give()
            pending = (report, now, now)
        }
        return outputs
    }

    /// Lets time go on to `now`.
    package mutating func advance(to now: Int64) -> [Output] {
        var outputs: [Output] = []
        if let pending, now - pending.last >= deadline { outputs += give() }
        if case .fix(let arrived, let staleAt) = state, now >= staleAt, pending?.report.isFix != true {
            state = .fix(arrived: arrived, staleAt: now + (now - arrived))
            outputs.append(.stale(age: now - arrived))
        }
        return outputs
    }

    /// When ``advance(to:)`` has something to say at the latest, if nothing arrives.
    package var nextDeadline: Int64? {
        let giveAt = pending.map { $0.last + deadline }
        guard case .fix(_, let staleAt) = state, pending?.report.isFix != true else { return giveAt }
        return min(giveAt ?? staleAt, staleAt)
    }

    /// Gives what was gathered: nothing more will come of it, as when the connection has ended.
    package mutating func give() -> [Output] {
        guard let (report, arrived, _) = pending else { return [] }
        pending = nil
        if let time = report.time {
            given.append(time)
            if given.count > 16 { given.removeFirst() }
        }
        if report.isFix {
            state = .fix(arrived: arrived, staleAt: arrived + staleAfter)
            return [.fix(report, arrived: arrived)]
        }
        if case .noFix = state { return [] }
        state = .noFix
        return [.noFix(report, arrived: arrived)]
    }
}
