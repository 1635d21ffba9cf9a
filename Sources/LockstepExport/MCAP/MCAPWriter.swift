import LockstepModel
import LockstepStore

/// Writes samples as MCAP (https://mcap.dev/spec): a channel for each kind of message of each device, with messages in
/// JSON, in indexed chunks without compression.
struct MCAPWriter: RowWriter {
    /// The greatest number of channels: their ids have 16 bits.
    static let maxChannels = 65_535

    private let library: String
    /// The session whose labels and markers the file contains, or nil.
    private let session: RecordingSession?
    /// The kinds of messages of each stream. The schema of a kind has its position over all streams, from 1, as id.
    private let kinds: [[MCAPMessage]]
    private let firstKind: [Int]
    private var channels: [Channel] = []
    /// The index in ``channels`` of the first kind of each stream, or nil before its first sample.
    private var firstChannel: [DeviceAddress: [Int?]] = [:]
    private var chunk = MCAPChunk()
    private var chunkIndex: [UInt8] = []
    private var chunks: UInt32 = 0
    private var metadataIndex: [UInt8] = []
    private var metadataCount: UInt32 = 0
    private var times: ClosedRange<UInt64>?
    /// The number of bytes before the next record, and their checksum.
    private var offset: UInt64 = 0
    private var checksum = CRC32()
    private var json = OutputBuffer()

    private struct Channel {
        let record: [UInt8]
        var messages: UInt32 = 0
    }

    init(streams: [SensorStream], library: String, session: RecordingSession? = nil) {
        self.library = library
        self.session = session
        let kinds = streams.map(MCAPMessage.kinds)
        self.kinds = kinds
        firstKind = kinds.indices.map { index in kinds[..<index].reduce(0) { $0 + $1.count } }
    }

    static func channels(streams: [SensorStream]) -> Int {
        streams.reduce(0) { $0 + MCAPMessage.kinds(of: $1).count }
    }

    mutating func begin(into output: inout OutputBuffer) {
        var bytes = mcapMagic
        bytes.append(record: .header) { bytes in
            bytes.append(text: "")
            bytes.append(text: library)
        }
        emit(bytes + schemas(), into: &output)
        if let session { write(session, into: &output) }
    }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        let first = channel(of: row.device, stream: stream, into: &output)
        // MCAP has no times before 1970.
        let microseconds = max(0, row.time.microseconds)
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let time = UInt64(microseconds).multipliedReportingOverflow(by: 1000).partialValue
        for (index, kind) in kinds[stream].enumerated() {
            json.removeAll()
            json.append("{\"timestamp\":{\"sec\":")
            json.append(seconds)
            json.append(",\"nsec\":")
            json.append(fraction * 1000)
            json.append("}")
            guard kind.write(row, &json) else { continue }
            json.append("}")
            let channel = first + index
            channels[channel].messages += 1
            chunk.append(
                channel: UInt16(channel + 1), sequence: channels[channel].messages, time: time, data: json.bytes)
        }
        if chunk.isFull { flushChunk(into: &output) }
    }

    mutating func end(into output: inout OutputBuffer) {
        flushChunk(into: &output)
        var bytes: [UInt8] = []
        bytes.append(record: .dataEnd) { $0.append(number: checksum.value) }
        emit(bytes, into: &output)
        emit(summary(), into: &output)
        emit(mcapMagic, into: &output)
    }

    /// Returns the channel of the first kind of message of a stream, and writes the records of new channels.
    private mutating func channel(of device: DeviceAddress, stream: Int, into output: inout OutputBuffer) -> Int {
        if let known = firstChannel[device]?[stream] { return known }
        let first = channels.count
        precondition(first + kinds[stream].count <= Self.maxChannels, "MCAP has at most 65,535 channels")
        firstChannel[device, default: Array(repeating: nil, count: kinds.count)][stream] = first
        for (index, kind) in kinds[stream].enumerated() {
            var record: [UInt8] = []
            record.append(record: .channel) { bytes in
                bytes.append(number: UInt16(first + index + 1))
                bytes.append(number: UInt16(firstKind[stream] + index + 1))
                bytes.append(text: "/\(device)/\(kind.topic)")
                bytes.append(text: "json")
                bytes.append(map: [("group", device.group.rawValue), ("device", device.device.rawValue)])
            }
            channels.append(Channel(record: record))
            emit(record, into: &output)
        }
        return first
    }

    private mutating func flushChunk(into output: inout OutputBuffer) {
        guard let span = chunk.times else { return }
        times =
            min(
                times?.lowerBound ?? span.lowerBound, span.lowerBound)...max(
                times?.upperBound ?? span.upperBound, span.upperBound)
        chunks += 1
        var bytes: [UInt8] = []
        bytes.reserveCapacity(chunk.records.count * 5 / 4)
        chunk.write(into: &bytes, summary: &chunkIndex, at: offset)
        chunk.removeAll()
        emit(bytes, into: &output)
    }

    private mutating func emit(_ bytes: [UInt8], into output: inout OutputBuffer) {
        offset += UInt64(bytes.count)
        checksum.update(bytes)
        output.append(bytes)
    }

    private func schemas() -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, kind) in kinds.joined().enumerated() {
            bytes.append(record: .schema) { bytes in
                bytes.append(number: UInt16(index + 1))
                bytes.append(text: kind.schema)
                bytes.append(text: "jsonschema")
                bytes.append(length: UInt32.self) { $0 += Array(kind.definition.utf8) }
            }
        }
        guard session != nil else { return bytes }
        bytes.append(record: .schema) { bytes in
            bytes.append(number: markerSchema)
            bytes.append(text: "lockstep.marker")
            bytes.append(text: "jsonschema")
            bytes.append(length: UInt32.self) { $0 += Array(JSONSchema.marker.utf8) }
        }
        return bytes
    }

    private var markerSchema: UInt16 { UInt16(kinds.joined().count + 1) }

    /// Writes labels as metadata, and markers as messages of a channel of their own.
    private mutating func write(_ session: RecordingSession, into output: inout OutputBuffer) {
        writeMetadata("session", session.properties, into: &output)
        for (id, device) in session.devices.sorted(by: { $0.key < $1.key }) {
            writeMetadata("device \(id)", device.properties, into: &output)
        }
        var record: [UInt8] = []
        record.append(record: .channel) { bytes in
            bytes.append(number: UInt16(1))
            bytes.append(number: markerSchema)
            bytes.append(text: "/markers")
            bytes.append(text: "json")
            bytes.append(map: [])
        }
        channels.append(Channel(record: record))
        emit(record, into: &output)
        for marker in session.markers {
            let (seconds, fraction) = max(0, marker.time.microseconds).quotientAndRemainder(dividingBy: 1_000_000)
            var text = "{\"timestamp\":{\"sec\":\(seconds),\"nsec\":\(fraction * 1000)}"
            text += ",\"text\":\(JSONRowsWriter.string(marker.text)),\"clock\":\"\(marker.clock.rawValue)\""
            if let device = marker.device { text += ",\"device\":\"\(device)\"" }
            if let value = marker.value { text += ",\"value\":\(value)" }
            if let duration = marker.duration { text += ",\"duration_s\":\(Double(duration) / 1e6)" }
            channels[0].messages += 1
            chunk.append(
                channel: 1, sequence: channels[0].messages,
                time: UInt64(seconds * 1_000_000 + fraction).multipliedReportingOverflow(by: 1000).partialValue,
                data: Array((text + "}").utf8))
            if chunk.isFull { flushChunk(into: &output) }
        }
    }

    /// Writes a metadata record, and notes where it is: readers that use the index find no others.
    private mutating func writeMetadata(
        _ name: String, _ properties: [(key: String, value: String)], into output: inout OutputBuffer
    ) {
        var record: [UInt8] = []
        record.append(record: .metadata) { bytes in
            bytes.append(text: name)
            bytes.append(map: properties)
        }
        metadataIndex.append(record: .metadataIndex) { bytes in
            bytes.append(number: offset)
            bytes.append(number: UInt64(record.count))
            bytes.append(text: name)
        }
        metadataCount += 1
        emit(record, into: &output)
    }

    private func statistics() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(record: .statistics) { bytes in
            bytes.append(number: channels.reduce(UInt64(0)) { $0 + UInt64($1.messages) })
            bytes.append(number: UInt16(kinds.joined().count + (session == nil ? 0 : 1)))
            bytes.append(number: UInt32(channels.count))
            bytes.append(number: UInt32(0))
            bytes.append(number: metadataCount)
            bytes.append(number: chunks)
            bytes.append(number: times?.lowerBound ?? 0)
            bytes.append(number: times?.upperBound ?? 0)
            bytes.append(length: UInt32.self) { bytes in
                for (index, channel) in channels.enumerated() {
                    bytes.append(number: UInt16(index + 1))
                    bytes.append(number: UInt64(channel.messages))
                }
            }
        }
        return bytes
    }

    /// Returns the summary, the summary offsets and the footer.
    private func summary() -> [UInt8] {
        let groups: [(MCAPOpcode, [UInt8])] = [
            (.schema, schemas()), (.channel, channels.flatMap(\.record)), (.statistics, statistics()),
            (.chunkIndex, chunkIndex), (.metadataIndex, metadataIndex),
        ]
        var bytes: [UInt8] = []
        var offsets: [UInt8] = []
        for (opcode, records) in groups where !records.isEmpty {
            offsets.append(record: .summaryOffset) { offsets in
                offsets.append(opcode.rawValue)
                offsets.append(number: offset + UInt64(bytes.count))
                offsets.append(number: UInt64(records.count))
            }
            bytes += records
        }
        let offsetStart = offset + UInt64(bytes.count)
        bytes += offsets
        // The checksum covers the footer up to itself, so the footer is not written with append(record:).
        bytes.append(MCAPOpcode.footer.rawValue)
        bytes.append(number: UInt64(20))
        bytes.append(number: offset)
        bytes.append(number: offsetStart)
        bytes.append(number: CRC32.of(bytes))
        return bytes
    }
}
