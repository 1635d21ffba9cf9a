import Foundation
import LockstepExport
import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Exports come back as recordings")
struct RoundTripTests {
    private static let start: Int64 = 1_700_000_000_000_000

    /// Returns samples with a value in each column, in the range of the column, and at the end one with empty columns.
    private static func samples(of stream: SensorStream) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for row in 0..<3 {
            let values = stream.columns.enumerated().map { index, column in
                switch column.kind {
                case .choice(let words): Double(row % words.count)
                case .integer: Double(row + 1)
                case .real: row == 2 && !column.isRequired ? Double.nan : 0.125 * Double(row + 1) - Double(index) / 3
                }
            }
            block.append(time: Timestamp(microseconds: start + Int64(row) * 10_000), values: values)
        }
        return block
    }

    private func recording(of streams: [SensorStream], _ subject: ExportSubject, _ format: ExportFormat) async throws
        -> Recording
    {
        let blocks = streams.map(Self.samples)
        var writer = subject.writer(format: format, gap: 1, creator: "test")
        var output = OutputBuffer()
        writer.begin(into: &output)
        for row in 0..<3 {
            for (index, block) in blocks.enumerated() {
                let sample = SampleRow(
                    device: DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left")),
                    time: Timestamp(microseconds: block.times[row]), values: block.columns.map { $0[row] })
                writer.write(sample, stream: index, into: &output)
            }
        }
        writer.end(into: &output)
        return try await withTemporaryFolder { folder in
            try Data(output.bytes).write(to: URL(fileURLWithPath: folder + "/export"))
            // A replay has the same streams as an analysis.
            let source = try ReplaySource(file: folder + "/export")
            #expect(Set(source.streams) == Set(streams))
            return try Recording(file: folder + "/export", isStrict: true)
        }
    }

    private func expectSame(_ recording: Recording, _ stream: SensorStream) {
        let (found, expected) = (recording.samples(of: stream), Self.samples(of: stream))
        #expect(found?.times == expected.times)
        // NaN is not equal to itself.
        #expect(found.map { "\($0.columns)" } == "\(expected.columns)")
    }

    @Test("each stream is read again", arguments: StreamCatalog.builtIn.streams, [ExportFormat.csv, .ndjson, .mcap])
    func oneStream(stream: SensorStream, format: ExportFormat) async throws {
        let recording = try await recording(of: [stream], .stream(stream), format)
        #expect(recording.blocks.map(\.stream) == [stream])
        expectSame(recording, stream)
    }

    @Test("several streams are read again", arguments: [ExportFormat.csv, .ndjson, .mcap])
    func motion(format: ExportFormat) async throws {
        let streams = ExportSubject.motion.streams
        let recording = try await recording(of: streams, .motion, format)
        for stream in streams { expectSame(recording, stream) }
        // NDJSON has a row for each sample, the others have one for each time.
        #expect(recording.times.count == (format == .ndjson ? 3 * streams.count : 3))
    }

    @Test("a track is read again from GPX")
    func track() async throws {
        let recording = try await recording(of: [.location], .track, .gpx)
        let (found, expected) = (try #require(recording.samples(of: .location)), Self.samples(of: .location))
        // GPX has no time by the receiver's clock, and no more than three dimensions.
        for (column, (values, others)) in zip(SensorStream.location.columns, zip(found.columns, expected.columns))
        where column.name != "at" && column.name != "fix" {
            // The last sample has no position.
            #expect(values == Array(others.prefix(2)), "\(column.name)")
        }
    }
}
