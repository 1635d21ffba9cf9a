/// Splits a stream of bytes into lines.
struct LineSplitter: Sendable {
    /// The longest line in bytes; longer lines are dropped and counted. A SKY report of 100 satellites has 10,000
    /// bytes.
    static let maxLineLength = 262_144

    /// The number of lines dropped because they were too long.
    private(set) var dropped = 0
    private var buffer: [UInt8] = []
    private var isSkipping = false

    /// Appends received bytes and returns the lines that are now complete, without their line ends. Empty lines are
    /// omitted.
    mutating func append(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
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
