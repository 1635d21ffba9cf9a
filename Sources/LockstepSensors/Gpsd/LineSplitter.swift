/// Bytes in, whole lines out.
struct LineSplitter: Sendable {
    /// A longer line, in bytes, is thrown away and counted. A sky report of a hundred satellites has 10,000.
    static let maxLineLength = 262_144

    /// Lines that were too long.
    private(set) var dropped = 0
    private var buffer: [UInt8] = []
    private var isSkipping = false

    /// Takes what was received; gives the lines that are now whole, without their ends and without blank ones.
    mutating func take(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            if !isSkipping {
                buffer += rest[..<end]
                if buffer.last == UInt8(ascii: "\r") { buffer.removeLast() }
                if !buffer.isEmpty { lines.append(buffer) }
            }
            isSkipping = false
            buffer = []
            rest = rest[rest.index(after: end)...]
        }
        if !isSkipping { buffer += rest }
        if buffer.count > Self.maxLineLength {
            buffer = []
            isSkipping = true
            dropped += 1
        }
        return lines
    }
}
