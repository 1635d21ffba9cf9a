package import LockstepModel

/// Readings of a counter that counts steps since some beginning in; samples of the `steps` stream out.
package struct StepDeltas: Sendable {
    private var last: (count: Int64, time: Int64)?

    package init() {}

    /// The count that a counter reads; nil where it can be none.
    package static func count(of reading: Double) -> Int64? {
        Int64(exactly: reading).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Takes what the counter said at `time`, in µs of the boot clock.
    ///
    /// The first reading is what later ones are compared with. A count smaller than the one before is that of a counter
    /// that began anew: all of it is new.
    /// - Returns: one sample of the steps since the last reading, with times of the boot clock; nil where there were none.
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
        // A counter tells several steps late and at once: a cadence of them would be wrong.
        block.append(
            time: Timestamp(microseconds: time), values: [Double(start), Double(steps), .nan, .nan, .nan, .nan])
        return block
    }
}
