import CZlib

/// A chunk that is being filled: messages, and where each channel's messages are.
struct MCAPChunk {
    /// The records, without compression.
    private(set) var records: [UInt8] = []
    /// The log time in ns and the offset in ``records`` of each message, by channel.
    private(set) var index: [UInt16: [(time: UInt64, offset: UInt64)]] = [:]
    private(set) var times: ClosedRange<UInt64>?

    /// The size from which on a chunk is written. Readers keep whole chunks in memory.
    private static let limit = 768 << 10

    var isFull: Bool { records.count >= Self.limit }
    var isEmpty: Bool { times == nil }

    mutating func append(channel: UInt16, sequence: UInt32, time: UInt64, data: [UInt8]) {
        index[channel, default: []].append((time, UInt64(records.count)))
        times = min(times?.lowerBound ?? time, time)...max(times?.upperBound ?? time, time)
        records.append(MCAPOpcode.message.rawValue)
        records.append(number: UInt64(22 + data.count))
        records.append(number: channel)
        records.append(number: sequence)
        records.append(number: time)
        records.append(number: time)
        records.append(contentsOf: data)
    }

    mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        index.removeAll()
        times = nil
    }

    /// Appends the chunk record and the message index records to `bytes`, and a chunk index record to `summary`.
    /// - Parameter start: the offset in the file at which the chunk record begins.
    func write(into bytes: inout [UInt8], summary: inout [UInt8], at start: UInt64) {
        guard let times else { return }
        let begin = bytes.count
        bytes.append(record: .chunk) { bytes in
            bytes.append(number: times.lowerBound)
            bytes.append(number: times.upperBound)
            bytes.append(number: UInt64(records.count))
            bytes.append(number: CRC32.of(records))
            bytes.append(text: "")
            bytes.append(length: UInt64.self) { $0 += records }
        }
        let length = bytes.count - begin
        var offsets: [(channel: UInt16, offset: UInt64)] = []
        for (channel, messages) in index.sorted(by: { $0.key < $1.key }) {
            offsets.append((channel, start + UInt64(bytes.count - begin)))
            bytes.append(record: .messageIndex) { bytes in
                bytes.append(number: channel)
                bytes.append(length: UInt32.self) { bytes in
                    for message in messages {
                        bytes.append(number: message.time)
                        bytes.append(number: message.offset)
                    }
                }
            }
        }
        let indexLength = bytes.count - begin - length
        summary.append(record: .chunkIndex) { summary in
            summary.append(number: times.lowerBound)
            summary.append(number: times.upperBound)
            summary.append(number: start)
            summary.append(number: UInt64(length))
            summary.append(length: UInt32.self) { summary in
                for entry in offsets {
                    summary.append(number: entry.channel)
                    summary.append(number: entry.offset)
                }
            }
            summary.append(number: UInt64(indexLength))
            summary.append(text: "")
            summary.append(number: UInt64(records.count))
            summary.append(number: UInt64(records.count))
        }
    }
}

/// The CRC-32 of ISO 3309, which MCAP uses.
struct CRC32 {
    /// The checksum of the bytes so far.
    private(set) var value: UInt32 = 0

    /// Returns the checksum of `bytes`.
    static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var checksum = CRC32()
        checksum.update(Array(bytes))
        return checksum.value
    }

    mutating func update(_ bytes: [UInt8]) {
        // Without bytes there may be no address either, for which zlib returns the checksum of nothing.
        guard !bytes.isEmpty else { return }
        value = UInt32(crc32(UInt(value), bytes, UInt32(bytes.count)))
    }
}

/// The kinds of records of MCAP that the writer uses (https://mcap.dev/spec).
enum MCAPOpcode: UInt8 {
    case header = 0x01
    case footer = 0x02
    case schema = 0x03
    case channel = 0x04
    case message = 0x05
    case chunk = 0x06
    case messageIndex = 0x07
    case chunkIndex = 0x08
    case statistics = 0x0B
    case metadata = 0x0C
    case metadataIndex = 0x0D
    case summaryOffset = 0x0E
    case dataEnd = 0x0F
}

/// The magic bytes at both ends of an MCAP file.
let mcapMagic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]

extension [UInt8] {
    /// Appends a whole number in little-endian order.
    mutating func append(number: some FixedWidthInteger & UnsignedInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a text in UTF-8 with its length.
    mutating func append(text: String) {
        append(number: UInt32(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// Appends the content that `body` writes, with its length in `Length` before it.
    mutating func append<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type, _ body: (inout [UInt8]) -> Void
    ) {
        let start = count
        append(number: Length(0))
        body(&self)
        let size = MemoryLayout<Length>.size
        Swift.withUnsafeBytes(of: Length(count - start - size).littleEndian) { bytes in
            for (index, byte) in bytes.enumerated() { self[start + index] = byte }
        }
    }

    mutating func append(map: [(key: String, value: String)]) {
        append(length: UInt32.self) { bytes in
            for (key, value) in map {
                bytes.append(text: key)
                bytes.append(text: value)
            }
        }
    }

    /// Appends a record with the content that `body` writes.
    mutating func append(record opcode: MCAPOpcode, _ body: (inout [UInt8]) -> Void) {
        append(opcode.rawValue)
        append(length: UInt64.self, body)
    }
}
