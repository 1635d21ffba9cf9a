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

    /// Appends a message.
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

    /// Removes all messages.
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
