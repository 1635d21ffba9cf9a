import LockstepModel

/// Combines all reports with the same time into one fix.
///
/// A receiver sends one fix in several sentences, and gpsd reports it after each sentence that adds something. Reports
/// with the same time are collected until a report with another time arrives, or none has arrived for ``deadline``.
/// They are then delivered as one fix with all known values. A position without time belongs to the time that follows
/// within the deadline. A report that repeats a delivered fix is ignored: it has the same time, and the same place or an
/// age below the deadline. A receiver whose time steps back reports old times with new places, which are new fixes.
/// Arrival times are parameters, in µs of any monotonic clock.
package struct FixAssembler: Sendable {
    package enum Output: Sendable, Hashable {
        /// A fix with all known values, and the arrival time of its first report.
        case fix(PositionReport, arrived: Int64)
        /// The receiver has no fix; reported once per loss.
        case noFix(PositionReport, arrived: Int64)
        /// The last fix is `age` µs old; reported at the age ``staleAfter`` and each time the age has doubled.
        case stale(age: Int64)
    }

    /// How long a fix waits for another report with its time, in µs.
    package let deadline: Int64
    /// The age in µs at which the last fix becomes stale.
    package let staleAfter: Int64

    private var pending: (report: PositionReport, arrived: Int64, last: Int64)?
    /// What was delivered recently: a receiver for several satellite systems may alternate between times.
    private var delivered: [(report: PositionReport, last: Int64)] = []
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

    /// Processes a report that arrived at `now`.
    package mutating func receive(_ report: PositionReport, at now: Int64) -> [Output] {
        var outputs = advance(to: now)
        if repeats(report, at: now) { return outputs }
        if pending != nil, pending?.report.time == report.time {
            pending?.report.fill(from: report)
            pending?.last = now
        } else if let waiting = pending, waiting.report.time == nil, waiting.report.isFix, report.time != nil {
            // A receiver may start a fix with the position and send the time in its next sentence.
            var timed = report
            timed.fill(from: waiting.report)
            pending = (timed, waiting.arrived, now)
        } else {
            outputs += flush()
            pending = (report, now, now)
        }
        return outputs
    }

    /// Handles deadlines that have passed at `now`.
    package mutating func advance(to now: Int64) -> [Output] {
        var outputs: [Output] = []
        if let pending, now - pending.last >= deadline { outputs += flush() }
        if case .fix(let arrived, let staleAt) = state, now >= staleAt, pending?.report.isFix != true {
            state = .fix(arrived: arrived, staleAt: now + (now - arrived))
            outputs.append(.stale(age: now - arrived))
        }
        return outputs
    }

    /// The time of the next ``advance(to:)`` if no report arrives; nil if there is none.
    package var nextDeadline: Int64? {
        let flushAt = pending.map { $0.last + deadline }
        guard case .fix(_, let staleAt) = state, pending?.report.isFix != true else { return flushAt }
        return min(flushAt ?? staleAt, staleAt)
    }

    /// Returns the pending fix without waiting for more reports, for the end of a connection.
    package mutating func flush() -> [Output] {
        guard let (report, arrived, last) = pending else { return [] }
        pending = nil
        if report.time != nil {
            delivered.removeAll { $0.report.time == report.time }
            delivered.append((report, last))
            if delivered.count > 16 { delivered.removeFirst() }
        }
        if report.isFix {
            state = .fix(arrived: arrived, staleAt: arrived + staleAfter)
            return [.fix(report, arrived: arrived)]
        }
        if case .noFix = state { return [] }
        state = .noFix
        return [.noFix(report, arrived: arrived)]
    }

    /// Returns whether a report that arrives at `now` repeats a delivered one.
    private func repeats(_ report: PositionReport, at now: Int64) -> Bool {
        guard let time = report.time, let (earlier, last) = delivered.last(where: { $0.report.time == time }) else {
            return false
        }
        guard report.isFix else { return true }
        let isSamePlace = earlier.latitude == report.latitude && earlier.longitude == report.longitude
        return earlier.isFix && (isSamePlace || now - last < deadline)
    }
}

/// The timestamps of samples by the receivers' own clocks (``Stamping/own``), as a value.
///
/// A sample has its receiver's time. If that is not later than the newest timestamp, because the receiver's time has
/// stepped back or another receiver has the same time, a few µs are added: then no two samples have the same time, and
/// one wrong date in the future does not make all later fixes old.
struct ReceiverStamps: Sendable {
    private struct Receiver {
        var last: Timestamp
        /// What is added to times that may have occurred before, in µs.
        var offset: Int64
    }

    /// The number of offsets, after which they repeat: below 1 ms, the resolution of gpsd's times.
    private static let offsets: Int64 = 1000

    private var receivers: [String: Receiver] = [:]
    private var newest: Timestamp?
    private var nextOffset: Int64 = 0

    /// Returns the timestamp of a sample, and by how much the receiver's time has stepped back since its last sample, in
    /// µs; nil if it has not.
    mutating func stamp(_ time: Timestamp, of receiver: String) -> (time: Timestamp, stepBack: Int64?) {
        let last = receivers[receiver]?.last
        let isLater = last.map { time > $0 } ?? false
        if !isLater {
            receivers[receiver] = Receiver(last: time, offset: nextOffset)
            nextOffset = (nextOffset + 1) % Self.offsets
        }
        receivers[receiver]?.last = time
        let stepBack = last.flatMap { time < $0 ? $0 - time : nil }
        guard let newest, time <= newest else {
            newest = time
            return (time, stepBack)
        }
        return (Timestamp(microseconds: time.microseconds + (receivers[receiver]?.offset ?? 0)), stepBack)
    }
}

/// Finds the fixes whose time is far in the future, for example because the receiver's week number was wrong
/// (``Stamping/own``), as a value. A collector would refuse them, together with all samples of their batch.
///
/// The system's clock tells if it is synchronised. Otherwise the receiver's own fixes do: one that is far ahead of those
/// before it is held until the next one, which either agrees with it or not.
struct FutureFixes: Sendable {
    typealias Fix = (position: PositionReport, time: Timestamp, arrived: Int64)

    /// How far a fix may be ahead, in µs: half of what collectors accept.
    static let maxAhead: Int64 = 43_200_000_000

    /// The time of the last good fix of each receiver, minus its arrival.
    private var offsets: [String: Int64] = [:]
    private var held: [String: Fix] = [:]

    /// Returns the fixes that are good, in order, and those that are in the future.
    /// - Parameter system: The system's time at the arrival.
    mutating func receive(
        _ fix: Fix, of receiver: String, _ system: (time: Timestamp, isSynchronised: Bool)
    ) -> (good: [Fix], dropped: [Fix]) {
        let offset = fix.time.microseconds - fix.arrived
        let before = held.removeValue(forKey: receiver)
        var result: (good: [Fix], dropped: [Fix]) = ([], [])
        if system.isSynchronised {
            for fix in [before, fix].compactMap(\.self) {
                if fix.time - system.time > Self.maxAhead {
                    result.dropped.append(fix)
                } else {
                    result.good.append(fix)
                }
            }
        } else if let before, abs(offset - (before.time.microseconds - before.arrived)) <= Self.maxAhead {
            result.good = [before, fix]
        } else {
            result.dropped = before.map { [$0] } ?? []
            let expected = offsets[receiver] ?? system.time.microseconds - fix.arrived
            if offset - expected > Self.maxAhead { held[receiver] = fix } else { result.good = [fix] }
        }
        if !result.good.isEmpty { offsets[receiver] = offset }
        return result
    }
}
