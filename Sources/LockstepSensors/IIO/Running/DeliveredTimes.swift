package import LockstepModel

/// The time of the last sample delivered for each stream, across all sessions of a device.
///
/// A buffer that has just been enabled may hold scans from before the last polled reading. Delivering them would repeat
/// a measurement.
package struct DeliveredTimes: Sendable {
    private var last: [SensorStream: Int64] = [:]

    package init() {}

    /// Returns the samples of `block` that are later than all previous ones of its stream; nil if there are none.
    /// - Parameter block: Samples in time order.
    package mutating func advance(over block: SampleBlock) -> SampleBlock? {
        let isLater = { [last = last[block.stream] ?? .min] (time: Int64) in time > last }
        guard let first = block.times.firstIndex(where: isLater) else { return nil }
        last[block.stream] = block.times.last
        return first == 0 ? block : block[first..<block.count]
    }
}
