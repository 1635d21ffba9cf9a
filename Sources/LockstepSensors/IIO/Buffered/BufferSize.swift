/// The length and the watermark of a device's buffer, in scans.
package struct BufferSize: Sendable, Hashable {
    /// The time in s for which the buffer can hold scans that are not read.
    private static let depth = 2.0
    /// The smallest and largest length.
    private static let lengths = 16...8192

    /// The requested length.
    package let length: Int
    /// The number of scans that arrive within the linger, limited to half of the chip's FIFO.
    private let scansPerLinger: Int

    /// - Parameters:
    ///   - rate: The rate of scans in 1/s; nil if unknown.
    ///   - linger: How long scans are collected before the reader is woken, in µs.
    ///   - chipScans: The capacity of the chip's own FIFO; nil if it has none.
    package init(rate: Double?, linger: Int64, chipScans: Int? = nil) {
        let scanRate = min(rate ?? RateControl.defaultRate, 1e6)
        // If the rate is unknown, each scan wakes the reader, because waiting for several could take long.
        let scansPerLinger =
            rate == nil ? 1 : Int(min(scanRate * Double(linger) / 1e6, Double(Self.lengths.upperBound)))
        length = min(
            max(2 * scansPerLinger, Int(scanRate * Self.depth), Self.lengths.lowerBound), Self.lengths.upperBound)
        // A full FIFO drops scans or is cleared: the other half is reserved for a late reader.
        self.scansPerLinger = min(scansPerLinger, (chipScans ?? .max) / 2)
    }

    /// Returns the number of scans after which the reader is woken: at most half of the length, so that the buffer does
    /// not overflow while the reader wakes up.
    /// - Parameter length: The actual length in scans, which may be fixed by the driver.
    package func watermark(of length: Int) -> Int { max(1, min(scansPerLinger, length / 2)) }
}
