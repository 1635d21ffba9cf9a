import FoundationEssentials
import Glibc

/// Writes MCAP files for tests (https://mcap.dev/spec), also such as Lockstep does not write.
public struct MCAPExample {
    /// The bytes so far: the magic bytes and records.
    public private(set) var bytes: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]

    /// Creates a file with a header.
    public init() { record(0x01, Self.text("") + Self.text("test")) }

    /// Creates a file with other bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Adds a channel.
    public mutating func channel(
        _ id: UInt16, _ topic: String, encoding: String = "json", schema: String = "", device: (String, String)? = nil
    ) {
        let metadata = device.map { ["group", $0.0, "device", $0.1].flatMap(Self.text) } ?? []
        if !schema.isEmpty {
            record(0x03, Self.number(id) + Self.text(schema) + Self.text("jsonschema") + Self.number(UInt32(0)))
        }
        record(
            0x04,
            Self.number(id) + Self.number(schema.isEmpty ? UInt16(0) : id) + Self.text(topic) + Self.text(encoding)
                + Self.number(UInt32(metadata.count)) + metadata)
    }

    /// Adds a message outside of chunks.
    /// - Parameter time: the log time in ns.
    public mutating func message(_ channel: UInt16, _ time: UInt64, _ text: String) {
        record(
            0x05,
            Self.number(channel) + Self.number(UInt32(0)) + Self.number(time) + Self.number(time) + Array(text.utf8))
    }

    /// Moves all records after the header into a chunk.
    public mutating func pack(compression: String = "") {
        let empty = Self().bytes.count
        let records = Array(bytes[empty...])
        bytes.removeSubrange(empty...)
        record(
            0x06,
            [UInt8](repeating: 0, count: 16) + Self.number(UInt64(records.count)) + Self.number(UInt32(0))
                + Self.text(compression) + Self.number(UInt64(records.count)) + records)
    }

    /// Adds the end of the messages, and what a reader of all of them does not need.
    public mutating func end() {
        record(0x0F, Self.number(UInt32(0)))
        record(0x02, [UInt8](repeating: 0, count: 20))
        bytes += bytes[..<8]
    }

    /// Passes a file with the bytes to `body`, and removes it afterwards.
    public func withFile<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let path = FileManager.default.temporaryDirectory.path + "/lockstep-test-\(UUID().uuidString).mcap"
        defer { unlink(path) }
        try Data(bytes).write(to: URL(filePath: path))
        return try await body(path)
    }

    private mutating func record(_ opcode: UInt8, _ content: [UInt8]) {
        bytes.append(opcode)
        bytes += Self.number(UInt64(content.count)) + content
    }

    private static func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private static func text(_ text: String) -> [UInt8] { number(UInt32(text.utf8.count)) + Array(text.utf8) }
}
