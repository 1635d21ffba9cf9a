/// How many scans a device's buffer holds, and how many of them wake who reads it.
package struct BufferSize: Sendable, Hashable {
    /// How long the buffer holds scans while nobody reads, in s.
    private static let depth = 2.0
    /// The fewest and the most that it is asked to hold.
    private static let lengths = 16...8192

    /// Scans that it is to hold.
    package let length: Int
    /// Scans after which the reader is to be woken, as far as the buffer holds them.
    private let gathered: Int

    /// - Parameters:
    ///   - rate: scans a second; nil where nobody knows.
    ///   - linger: how long scans gather before the reader is woken, in µs.
    ///   - chipScans: how many the chip can gather in a memory of its own; nil where it has none.
    package init(rate: Double?, linger: Int64, chipScans: Int? = nil) {
        let pace = min(rate ?? RateControl.usual, 1e6)
        // Where nobody knows how often scans come, each wakes the reader: several might be a long time in coming.
        let gathered = rate == nil ? 1 : Int(min(pace * Double(linger) / 1e6, Double(Self.lengths.upperBound)))
        length = min(max(2 * gathered, Int(pace * Self.depth), Self.lengths.lowerBound), Self.lengths.upperBound)
        // A chip begins to gather anew, or drops scans, when its memory is full: the other half is for a late reader.
        self.gathered = min(gathered, (chipScans ?? .max) / 2)
    }

    /// Scans after which the reader is woken: half of what the buffer holds at the most, so that there is room while it
    /// wakes.
    /// - Parameter length: what the buffer does hold: its depth may be fixed.
    package func watermark(of length: Int) -> Int { max(1, min(gathered, length / 2)) }
}
