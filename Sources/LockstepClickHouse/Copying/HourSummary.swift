package import LockstepModel

/// What two stores compare: the number of samples of a device and stream in an hour, and a sum of their hashes. The sum
/// depends on the time and the values of each sample, but not on their order.
package struct HourSummary: Hashable, Sendable {
    /// The number of samples.
    package private(set) var count: Int
    private var sum: UInt64

    /// Creates the summary of no samples.
    package init() { self.init(count: 0, sum: 0) }

    init(count: Int, sum: UInt64) {
        self.count = count
        self.sum = sum
    }

    /// µs of an hour.
    package static let length: Int64 = 3_600_000_000

    /// Returns the number of the hour that contains a time.
    package static func hour(of time: Int64) -> Int64 { time / length - (time % length < 0 ? 1 : 0) }

    /// Adds the samples of a block.
    package mutating func add(_ block: SampleBlock) {
        for (time, hash) in zip(block.times, SampleHasher(block.stream).hashes(of: block)) {
            count += 1
            sum &+= hash &* (2 &* UInt64(bitPattern: time) &+ 1)
        }
    }

    /// Returns the statement for the summaries of a device by hour, from the same calculation.
    static func statement(of device: Int64, _ stream: SensorStream) -> String {
        """
        SELECT intDiv(t, toInt64(\(length))) - if(t % toInt64(\(length)) < 0, 1, 0) AS hour, count(),
            sum(_values_hash * (toUInt64(2) * toUInt64(t) + toUInt64(1)))
        FROM (SELECT t, _values_hash FROM \(stream.receivedTable) WHERE device_id = \(device)
        ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t) GROUP BY hour
        """
    }
}
