/// Collects output and writes it in large pieces.
public struct OutputBuffer {
    private var bytes: [UInt8] = []

    public init() { bytes.reserveCapacity(Self.limit + 4096) }

    private static let limit = 65_536

    public mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
    public mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    /// Ends a line; writes when enough has come together.
    public mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count >= Self.limit { flush() }
    }

    public mutating func flush() {
        Terminal.output.write(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}
