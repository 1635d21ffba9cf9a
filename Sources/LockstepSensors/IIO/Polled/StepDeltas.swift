package import LockstepModel

/// Converts the readings of a cumulative step counter to samples of the `steps` stream.
///
/// The first reading is the baseline. A counter may start again from 0, wrap around after 16 or 32 bits, jump, or count
/// back. A change that nobody can walk in that time is no steps: it only sets a new baseline.
package struct StepDeltas: Sendable {
    /// The largest plausible number of steps a second. Sprinters make 4.5 to 5.
    package static let maxRate = 5.0
    /// How long a counter may take to report steps, in µs: many report the first steps of a walk together.
    package static let latency: Int64 = 3_000_000

    /// The number of changes that were not plausible, and the last one.
    package private(set) var implausible: (count: Int, from: Int64, to: Int64)?

    private struct Reading {
        var count: Int64
        var time: Int64
        /// When steps were last counted, at most ``latency`` ago.
        var counted: Int64
    }

    private var last: Reading?
    /// The last reading before an implausible one: the counter may return to it.
    private var trusted: Reading?

    package init() {}

    /// Returns a reading as a count; nil if it is not a whole number from 0.
    package static func count(of reading: Double) -> Int64? {
        Int64(exactly: reading).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Processes the count at `time`, in µs of the boot clock.
    /// - Returns: One sample with the steps since the last reading, with times of the boot clock; nil if there are
    ///   none.
    package mutating func update(count: Int64, at time: Int64) -> SampleBlock? {
        guard let before = last else {
            last = Reading(count: count, time: time, counted: time)
            return nil
        }
        guard time > before.time else { return nil }
        let forward = trusted.flatMap { Self.steps(from: $0, to: count, at: time, mayRestart: false) }
        let found = forward ?? Self.steps(from: before, to: count, at: time, mayRestart: true)
        guard let steps = found else {
            implausible = ((implausible?.count ?? 0) + 1, before.count, count)
            trusted = trusted ?? before
            last = Reading(count: count, time: time, counted: time)
            return nil
        }
        let origin = forward == nil ? before : trusted ?? before
        trusted = nil
        last = Reading(count: count, time: time, counted: steps > 0 ? time : max(before.counted, time - Self.latency))
        guard steps > 0 else { return nil }
        // Steps that were reported late were made in the time before.
        let start = min(origin.time, max(origin.counted, time - Int64(Double(steps) / Self.maxRate * 1e6)))
        var block = SampleBlock(stream: .steps)
        // The counter reports steps late and several at a time, so a cadence would be wrong.
        block.append(
            time: Timestamp(microseconds: time), values: [Double(start), Double(steps), .nan, .nan, .nan, .nan])
        return block
    }

    /// Returns the steps between two readings; nil if the change is implausible.
    private static func steps(from before: Reading, to count: Int64, at time: Int64, mayRestart: Bool) -> Int64? {
        let since = max(time - before.time, min(time - before.counted, latency))
        let limit = Int64((Double(since) / 1e6 * maxRate).rounded(.up))
        if count >= before.count { return count - before.count <= limit ? count - before.count : nil }
        guard mayRestart else { return nil }
        for width in [16, 32] as [Int64] {
            let wrapped = count + (1 << width) - before.count
            if before.count < 1 << width, wrapped <= limit { return wrapped }
        }
        // A counter that starts again is far below; one that is slightly below has counted back.
        return count <= limit && count <= before.count / 2 ? count : nil
    }
}
