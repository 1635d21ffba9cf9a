/// The length and the watermark of a device's buffer, in scans.
package struct BufferSize: Sendable, Hashable {
    /// The time that the buffer covers without being read, in s.
    private static let depth = 2.0
    /// The smallest and largest length.
    private static let lengths = 16...8192

    /// The requested length.
    package let length: Int
    /// The number of scans that arrive within the linger.
    private let lingeringScans: Int

    /// - Parameters:
    ///   - rate: The rate of scans in 1/s; nil if unknown.
    ///   - linger: How long scans are collected before the reader is woken, in µs.
    ///   - chipScans: The capacity of the chip's own FIFO; nil if it has none.
    package init(rate: Double?, linger: Int64, chipScans: Int? = nil) {
        let scanRate = min(rate ?? RateControl.defaultRate, 1e6)
        // At an unknown rate each scan wakes the reader, because several might take long to arrive.
        let lingeringScans =
            rate == nil ? 1 : Int(min(scanRate * Double(linger) / 1e6, Double(Self.lengths.upperBound)))
        length = min(
            max(2 * lingeringScans, Int(scanRate * Self.depth), Self.lengths.lowerBound), Self.lengths.upperBound)
        // A full FIFO drops scans or starts over: the other half is reserved for a late reader.
        self.lingeringScans = min(lingeringScans, (chipScans ?? .max) / 2)
    }

    /// Returns the number of scans after which the reader is woken: at most half of the length, which leaves room while
    /// the reader wakes up.
    /// - Parameter length: The actual length, which may be fixed.
    package func watermark(of length: Int) -> Int { max(1, min(lingeringScans, length / 2)) }
}
