package import LockstepModel

/// Converts the readings of a cumulative step counter to samples of the `steps` stream.
package struct StepDeltas: Sendable {
    private var last: (count: Int64, time: Int64)?

    package init() {}

    /// Returns a reading as a count; nil if it is not a whole number from 0.
    package static func count(of reading: Double) -> Int64? {
        Int64(exactly: reading).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Processes the count at `time`, in µs of the boot clock.
    ///
    /// The first reading is the reference. A count that is smaller than the previous one means that the counter
    /// was reset, so all of its steps are new.
    /// - Returns: One sample with the steps since the last reading, with times of the boot clock; nil if there are
    ///   none.
    package mutating func update(count: Int64, at time: Int64) -> SampleBlock? {
        guard let (before, start) = last else {
            last = (count, time)
            return nil
        }
        guard time > start else { return nil }
        last = (count, time)
        let steps = count < before ? count : count - before
        guard steps > 0 else { return nil }
        var block = SampleBlock(stream: .steps)
        // The counter reports steps late and several at a time, so a cadence would be wrong.
        block.append(
            time: Timestamp(microseconds: time), values: [Double(start), Double(steps), .nan, .nan, .nan, .nan])
        return block
    }
}
