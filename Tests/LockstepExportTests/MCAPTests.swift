import LockstepModel
import LockstepStore
import Testing

@testable import LockstepExport

@Suite("MCAP")
struct MCAPTests {
    @Test(
        "CRC-32 has the known values, whatever the length",
        arguments: [("", 0), ("123456789", 0xCBF4_3926), ("The quick brown fox jumps over the lazy dog", 0x414F_A339)]
            as [(String, UInt32)])
    func checksum(text: String, value: UInt32) {
        #expect(CRC32.of(text.utf8) == value)
        var parts = CRC32()
        for byte in text.utf8 { parts.update([byte]) }
        #expect(parts.value == value)
    }

    @Test("a file has its records in order, and checksums of data and summary")
    func structure() throws {
        let bytes = file(streams: [.location], [fix("left", 0, 46.5, 7.5, altitude: 400, measures: [5, 8, 1, 2])])
        #expect(bytes.starts(with: mcapMagic) && bytes.suffix(8).elementsEqual(mcapMagic))
        let records = records(bytes)
        #expect(
            records.map(\.opcode) == [
                .header, .schema, .schema, .channel, .channel, .chunk, .messageIndex, .messageIndex, .dataEnd, .schema,
                .schema, .channel, .channel, .statistics, .chunkIndex, .summaryOffset, .summaryOffset, .summaryOffset,
                .summaryOffset, .footer,
            ])
        let end = try #require(records.first { $0.opcode == .dataEnd })
        #expect(number(end.content) == UInt64(CRC32.of(bytes[..<end.start])))
        let footer = try #require(records.last)
        let summary = Int(number(footer.content.prefix(8)))
        #expect(summary == end.start + 13)
        #expect(number(footer.content.suffix(4)) == UInt64(CRC32.of(bytes[summary..<bytes.count - 12])))
    }

    @Test("a position becomes a foxglove.LocationFix and a message with all columns")
    func location() {
        let text = String(
            decoding: file(
                streams: [.location],
                [
                    fix("left", 0, 46.5, 7.5, altitude: 400, measures: [2.4477, 1.96, .nan, .nan]),
                    fix("left", 1, .nan, .nan, dimensions: 1),
                ]), as: UTF8.self)
        #expect(
            text.contains(
                #"{"timestamp":{"sec":1700000000,"nsec":0},"lat":46.5,"lon":7.5,"alt":400.0,"hacc":2.4477,"vacc":1.96}"#
            ))
        #expect(
            text.contains(
                #"{"timestamp":{"sec":1700000000,"nsec":0},"frame_id":"lab/left","latitude":46.5,"longitude":7.5,"#
                    + #""altitude":400.0,"position_covariance":[1.0,0,0,0,1.0,0,0,0,1.0],"position_covariance_type":1}"#
            ))
        #expect(text.contains(#"{"timestamp":{"sec":1700000001,"nsec":0},"fix":1}"#))
        #expect(text.split(separator: #""frame_id":"lab/left""#).count == 2)
    }

    @Test("an attitude becomes a foxglove.PoseInFrame in its reference frame")
    func pose() {
        let values = [0.5, 0.5, -0.5, 0.5] + Array(repeating: Double.nan, count: 13) + [2]
        let text = String(decoding: file(streams: [.deviceMotion], [row("left", 1, values)]), as: UTF8.self)
        #expect(
            text.contains(
                #"{"timestamp":{"sec":0,"nsec":1000},"frame_id":"magneticNorth","pose":{"position":{"x":0,"y":0,"z":0},"#
                    + #""orientation":{"w":0.5,"x":0.5,"y":-0.5,"z":0.5}}}"#))
    }

    @Test("messages are in chunks of limited size")
    func chunks() {
        let rows = (0..<20_000).map { row("left", Int64($0), [1, 2, 3]) }
        let records = records(file(streams: [.accelerometer], rows))
        let chunks = records.filter { $0.opcode == .chunk }
        #expect(chunks.count == records.filter { $0.opcode == .chunkIndex }.count)
        #expect(chunks.count == 3 && chunks.allSatisfy { $0.content.count < 800_000 })
    }

    private func file(streams: [SensorStream], _ rows: [SampleRow]) -> [UInt8] {
        var writer = MCAPWriter(streams: streams, library: "test")
        var output = OutputBuffer()
        writer.begin(into: &output)
        for row in rows { writer.write(row, stream: 0, into: &output) }
        writer.end(into: &output)
        return output.bytes
    }

    private func records(_ bytes: [UInt8]) -> [(opcode: MCAPOpcode?, start: Int, content: ArraySlice<UInt8>)] {
        var result: [(opcode: MCAPOpcode?, start: Int, content: ArraySlice<UInt8>)] = []
        var start = 8
        while start < bytes.count - 8 {
            let length = Int(number(bytes[start + 1..<start + 9]))
            result.append((MCAPOpcode(rawValue: bytes[start]), start, bytes[start + 9..<start + 9 + length]))
            start += 9 + length
        }
        return result
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
