import LockstepModel
import LockstepStore
import Testing

@testable import LockstepExport

@Suite("Export of a session")
struct SessionExportTests {
    private let session: RecordingSession

    init() {
        var session = RecordingSession(
            key: .init(group: GroupID(unchecked: "lab"), id: SessionID(unchecked: "walk")), name: "walk <3>",
            created: Timestamp(microseconds: 0))
        session.labels = ["subject": "7"]
        session.devices[DeviceID(unchecked: "left")] = .init(joined: session.created)
        session.devices[DeviceID(unchecked: "left")]?.clockBound = 310
        session.devices[DeviceID(unchecked: "left")]?.calibration = #"{"positions":9}"#
        session.add(
            .init(id: "a", time: Timestamp(microseconds: 1_500_000), clock: .client, text: "turn, left", value: 2))
        session.add(
            .init(id: "b", time: Timestamp(microseconds: 1_600_000), clock: .arrival, text: "ä", duration: 500_000))
        self.session = session
    }

    private func file(_ format: ExportFormat) -> [UInt8] {
        var writer = ExportSubject.session(session, [.accelerometer, .steps])
            .writer(format: format, gap: 1, creator: "test", hasBound: true)
        var output = OutputBuffer()
        writer.begin(into: &output)
        for (device, count) in [("left", 3), ("right", 2)] {
            for index in 0..<count {
                let address = DeviceAddress(group: session.key.group, device: DeviceID(unchecked: device))
                writer.write(
                    SampleRow(
                        device: address, time: Timestamp(microseconds: 1_000_000 + Int64(index) * 10_000),
                        values: [Double(index), 0.5, .nan, 99]), stream: 0, into: &output)
            }
        }
        writer.end(into: &output)
        return output.bytes
    }

    /// A chunk of an XDF file.
    private struct Chunk {
        let tag: Int
        let content: ArraySlice<UInt8>
        var text: String { String(decoding: content, as: UTF8.self) }
    }

    private func number(_ bytes: some Collection<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func chunks(_ bytes: [UInt8]) -> [Chunk] {
        var chunks: [Chunk] = []
        var rest = bytes.dropFirst(4)
        while !rest.isEmpty {
            #expect(rest.first == 4)
            let length = Int(number(rest.dropFirst().prefix(4)))
            let whole = rest.dropFirst(5).prefix(length)
            chunks.append(Chunk(tag: Int(number(whole.prefix(2))), content: whole.dropFirst(2)))
            rest = rest.dropFirst(5 + length)
        }
        return chunks
    }

    @Test(
        "an XDF file has a header, a stream of each device, the markers as texts and as numbers, and footers with the counts"
    )
    func xdf() throws {
        let bytes = file(.xdf)
        #expect(bytes.starts(with: Array("XDF:".utf8)))
        let chunks = chunks(bytes)
        #expect(chunks.map(\.tag) == [1, 2, 3, 2, 3, 2, 2, 4, 6, 4, 6, 3, 4, 6, 3, 4, 6])
        #expect(chunks[0].text.contains("<version>1.0</version>") && chunks[0].text.contains("<label_subject>7<"))
        #expect(chunks[0].text.contains("<name>walk &lt;3&gt;</name>"))
        #expect(chunks[1].text.contains("<channel_format>string</channel_format>"))
        let left = chunks[5].text
        #expect(left.contains("<name>lab/left/motion/accelerometer</name>") && left.contains("<clock_bound_us>310<"))
        #expect(left.contains(#"<calibration>{"positions":9}</calibration>"#))
        #expect(left.contains("<channel_count>3</channel_count>") && left.contains("<nominal_srate>0<"))
        // Stream, count, then a time and three numbers for each sample.
        let samples = Array(chunks[11].content)
        #expect(number(samples[0..<4]) == 3 && samples[4] == 4 && number(samples[5..<9]) == 3)
        #expect(samples.count == 9 + 3 * (1 + 8 + 3 * 8))
        #expect(Double(bitPattern: number(samples[10..<18])) == 1.0)
        let second = samples[(9 + 33)...]
        #expect(Double(bitPattern: number(second.dropFirst().prefix(8))) == 1.01)
        #expect(Double(bitPattern: number(second.dropFirst(9).prefix(8))) == 1)
        let offset = Array(chunks[12].content)
        #expect(offset.count == 20 && number(offset[0..<4]) == 3)
        #expect(Double(bitPattern: number(offset[4..<12])) == 1.0 && number(offset[12..<20]) == 0, "an offset of 0")
        #expect(chunks[13].text.contains("<sample_count>3</sample_count>"))
        let markers = Array(chunks[2].content)
        #expect(number(markers[5..<9]) == 2 && Double(bitPattern: number(markers[10..<18])) == 1.5)
        #expect(markers[18] == 4 && number(markers[19..<23]) == 10)
        #expect(String(decoding: markers[23..<33], as: UTF8.self) == "turn, left")
        // One row for each marker, with its value and its length; NaN for what it does not have.
        #expect(chunks[3].text.contains("<label>value</label>") && chunks[3].text.contains("<label>duration</label>"))
        let numbers = Array(chunks[4].content)
        #expect(number(numbers[0..<4]) == 2 && number(numbers[5..<9]) == 2 && numbers.count == 9 + 2 * 25)
        let values = [18, 26, 43, 51].map { Double(bitPattern: number(numbers[$0..<$0 + 8])) }
        #expect(Double(bitPattern: number(numbers[35..<43])) == 1.6)
        #expect(values[0] == 2 && values[1].isNaN && values[2].isNaN && values[3] == 0.5)
    }

    @Test("an MCAP file has the labels as metadata, and the markers as messages")
    func mcap() {
        let text = String(decoding: file(.mcap), as: UTF8.self)
        #expect(text.contains("label/subject") && text.contains("lockstep.marker") && text.contains("/markers"))
        #expect(
            text.contains(
                #"{"timestamp":{"sec":1,"nsec":500000000},"text":"turn, left","clock":"client","value":2.0}"#))
        #expect(text.contains(#""text":"ä","clock":"arrival","duration_s":0.5}"#))
        #expect(text.contains("/lab/left/motion/accelerometer") && text.contains("clock_bound_us"))
        #expect(text.contains(#"{"positions":9}"#))
    }

    @Test("markers as CSV have a header, quotes where needed, and empty fields for what is not known")
    func csv() {
        #expect(
            markerCSV(session.markers) == """
                t,time,clock,text,device,value,duration_s,id
                1500000,1970-01-01T00:00:01.500000Z,client,"turn, left",,2.0,,a
                1600000,1970-01-01T00:00:01.600000Z,arrival,ä,,,0.5,b

                """)
    }

    @Test("a session is exported as MCAP or XDF, and other things are not exported as XDF")
    func formats() {
        #expect(ExportSubject.session(session, [.steps]).formats == [.mcap, .xdf])
        #expect(!ExportSubject.motion.formats.contains(.xdf) && ExportSubject.track.formats.contains(.gpx))
    }
}
