import LockstepModel

struct MCAPMessage {
    let channel: UInt16
    /// The log time in ns since 1970.
    let time: UInt64
    let data: ArraySlice<UInt8>
}

struct MCAPChannel {
    let topic: String
    /// The encoding of its messages, such as `json`.
    let encoding: String
    /// The name of its schema; empty without one.
    let schema: String
    let metadata: [String: String]
}

/// Decodes records of MCAP (https://mcap.dev/spec), and keeps the channels among them.
struct MCAPRecords {
    enum Opcode {
        static let footer: UInt8 = 0x02
        static let schema: UInt8 = 0x03
        static let channel: UInt8 = 0x04
        static let message: UInt8 = 0x05
        static let chunk: UInt8 = 0x06
        static let dataEnd: UInt8 = 0x0F
    }

    /// The channels so far, by their ids.
    private(set) var channels: [UInt16: MCAPChannel] = [:]
    private var schemas: [UInt16: String] = [:]

    /// Takes records from the start of `bytes` up to the next message; nil if there is none.
    mutating func nextMessage(in bytes: inout ArraySlice<UInt8>) throws(RowError) -> MCAPMessage? {
        while !bytes.isEmpty {
            let opcode = try bytes.take(UInt8.self)
            if let message = try add(opcode, try bytes.take(try bytes.take(UInt64.self))) { return message }
        }
        return nil
    }

    /// Adds a record outside of chunks or in one.
    /// - Returns: the message, if it is one.
    mutating func add(_ opcode: UInt8, _ content: ArraySlice<UInt8>) throws(RowError) -> MCAPMessage? {
        var content = content
        switch opcode {
        case Opcode.schema:
            schemas[try content.take(UInt16.self)] = try content.takeText()
        case Opcode.channel:
            let id = try content.take(UInt16.self)
            let schema = schemas[try content.take(UInt16.self)] ?? ""
            let (topic, encoding) = (try content.takeText(), try content.takeText())
            var map = try content.take(UInt64(try content.take(UInt32.self)))
            var metadata: [String: String] = [:]
            while !map.isEmpty { metadata[try map.takeText()] = try map.takeText() }
            channels[id] = MCAPChannel(topic: topic, encoding: encoding, schema: schema, metadata: metadata)
        case Opcode.message:
            let channel = try content.take(UInt16.self)
            _ = try content.take(UInt32.self)
            let time = try content.take(UInt64.self)
            _ = try content.take(UInt64.self)
            guard channels[channel] != nil else { throw RowError("its channel \(channel) was not declared before it") }
            return MCAPMessage(channel: channel, time: time, data: content)
        default: break
        }
        return nil
    }

    static func records(ofChunk content: ArraySlice<UInt8>) throws(RowError) -> ArraySlice<UInt8> {
        var content = content
        // The times of its first and last message, the size without compression, and a checksum.
        _ = try content.take(UInt64(28))
        let compression = try content.takeText()
        guard compression.isEmpty else {
            throw RowError(
                "the file is compressed with \(compression), which cannot be read: "
                    + "'mcap decompress FILE -o NEW' writes a file that can")
        }
        return try content.take(try content.take(UInt64.self))
    }
}

/// Reads the messages of an MCAP file in their order in the file, with one chunk in memory at a time.
struct MCAPFile: ~Copyable {
    static let magic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]
    /// The largest record, in bytes.
    private static let maxRecord: UInt64 = 256 << 20

    let file: String
    private(set) var records = MCAPRecords()
    /// The number of messages read so far.
    private(set) var count = 0

    private let bytes: LineReader
    private var offset = MCAPFile.magic.count
    private var chunk: ArraySlice<UInt8> = []

    /// Does not throw: see ``LineReader``.
    init(_ bytes: consuming LineReader) {
        file = bytes.file
        self.bytes = bytes
    }

    /// Returns the next message; nil after the last.
    mutating func next() throws(ReplayError) -> MCAPMessage? {
        while true {
            do throws(RowError) {
                if let message = try records.nextMessage(in: &chunk) {
                    count += 1
                    return message
                }
            } catch { throw failure(error) }
            var head = try bytes.bytes(at: offset, count: 9)
            guard let opcode = head.first, opcode != MCAPRecords.Opcode.dataEnd, opcode != MCAPRecords.Opcode.footer
            else { return nil }
            let size = try bytes.size()
            do throws(RowError) {
                _ = try head.take(UInt8.self)
                let length = try head.take(UInt64.self)
                offset += 9
                switch opcode {
                case MCAPRecords.Opcode.chunk:
                    chunk = try MCAPRecords.records(ofChunk: try content(length))
                case MCAPRecords.Opcode.schema, MCAPRecords.Opcode.channel, MCAPRecords.Opcode.message:
                    if let message = try records.add(opcode, try content(length)) {
                        offset += Int(length)
                        count += 1
                        return message
                    }
                default: break
                }
                guard length <= UInt64(max(0, size - offset)) else { throw .truncated }
                offset += Int(length)
            } catch { throw failure(error) }
        }
    }

    private func content(_ length: UInt64) throws(RowError) -> ArraySlice<UInt8> {
        guard length <= Self.maxRecord else { throw RowError("a record has more than \(Self.maxRecord >> 20) MiB") }
        var content: ArraySlice<UInt8>
        do { content = try bytes.bytes(at: offset, count: Int(length)) } catch { throw RowError(error.reason) }
        return try content.take(length)
    }

    private func failure(_ error: RowError) -> ReplayError {
        ReplayError(file: file, line: nil, reason: "message \(count + 1): \(error.reason)")
    }
}

extension RowError {
    fileprivate static let truncated = RowError(
        "the file ends within a record, as after a crash: 'mcap recover FILE -o NEW' writes what is whole")
}

extension ArraySlice<UInt8> {
    /// Takes a little-endian number from the start.
    fileprivate mutating func take<Number: FixedWidthInteger & UnsignedInteger>(
        _ type: Number.Type
    ) throws(RowError) -> Number {
        try take(UInt64(MemoryLayout<Number>.size)).reversed().reduce(0) {
            Number(truncatingIfNeeded: UInt64($0) << 8) | Number($1)
        }
    }

    /// Takes bytes from the start.
    fileprivate mutating func take(_ count: UInt64) throws(RowError) -> ArraySlice<UInt8> {
        guard count <= UInt64(self.count) else { throw .truncated }
        defer { removeFirst(Int(count)) }
        return prefix(Int(count))
    }

    /// Takes a text with its length before it from the start.
    fileprivate mutating func takeText() throws(RowError) -> String {
        String(decoding: try take(UInt64(try take(UInt32.self))), as: UTF8.self)
    }
}
