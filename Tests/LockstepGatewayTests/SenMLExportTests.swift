import LockstepExport
import LockstepGateway
import LockstepModel
import LockstepStore
import Testing

@Suite("SenML from exports")
struct SenMLExportTests {
    private static let location: [SampleRow] = [
        row("a", 1_795_575_000_000_001, [50.123456789, 8.5, 101.25, 3.5, .nan, 1.5, 270, 3, 1_795_575_000_000_000]),
        row("a", 1_795_575_000_999_999, [-50, -8.5, .nan, .nan, .nan, 0, .nan, 2, .nan]),
        row("b", 1_795_574_999_500_000, [1e-7, 179.9999999, -3, .nan, .nan, .nan, 0.25, .nan, .nan]),
    ]

    private static func row(_ device: String, _ time: Int64, _ values: [Double]) -> SampleRow {
        SampleRow(
            device: DeviceAddress(group: GroupID(unchecked: "g"), device: DeviceID(unchecked: device)),
            time: Timestamp(microseconds: time), values: values)
    }

    private func export(_ rows: [SampleRow], of stream: SensorStream, _ format: ExportFormat) -> [UInt8] {
        var writer = ExportSubject.stream(stream).writer(format: format, gap: 1, creator: "test")
        var output = OutputBuffer()
        writer.begin(into: &output)
        for row in rows { writer.write(row, stream: 0, into: &output) }
        writer.end(into: &output)
        return output.bytes
    }

    private func translate(_ payload: [UInt8]) throws -> Translation {
        try SenMLAdapter().translate(
            ForeignMessage(origin: .topic("senml"), payload: payload, receivedAt: receipt))
    }

    @Test("an exported pack is translated back to the same samples", arguments: [ExportFormat.senml, .senmlCBOR])
    func roundTrip(_ format: ExportFormat) throws {
        for (stream, rows) in [
            (SensorStream.location, Self.location),
            (
                .battery,
                [Self.row("a", 1_795_575_000_123_456, [0.87, 1]), Self.row("a", receipt.microseconds, [.nan, 2])]
            ),
            (.accelerometer, [Self.row("a", 1_795_575_000_123_457, [0.001, -0.02, -0.998])]),
            (.magnetometer, [Self.row("a", 1_795_575_000_123_457, [20.5, -3.25, 41])]),
            (.steps, [Self.row("a", receipt.microseconds, [1_795_575_000_000_000, 12, 9.5, .nan, 0.8, 1.9])]),
        ] {
            let translation = try translate(export(rows, of: stream, format))
            #expect(translation.reports.allSatisfy { $0.omissions.isEmpty }, "\(translation)")
            let devices = Set(rows.map(\.device.device.rawValue)).sorted()
            #expect(translation.reports.map(\.sender.parts) == devices.map { ["urn:x-lockstep:g:\($0)"] })
            let readings = translation.readings(stream.name)
            #expect(readings.map(\.time) == rows.map(\.time.microseconds))
            for (reading, row) in zip(readings, rows) {
                for (column, value) in zip(stream.columns, row.values) {
                    if case .choice(let words) = column.kind {
                        #expect(reading.word(column.name) == words[Int(value)])
                    } else if value.isNaN {
                        #expect(reading.number(column.name) == nil)
                    } else {
                        // The conversion to SenML's unit and back may round.
                        let number = try #require(reading.number(column.name), "\(column.name) is missing")
                        #expect(abs(number - value) <= abs(value) * 1e-15, "\(column.name): \(number), \(value)")
                    }
                }
            }
        }
    }

    @Test("JSON has base name, base time with microseconds, units and words")
    func text() {
        let rows = [Self.row("a", 1_795_575_000_000_001, [0.5, 1]), Self.row("a", 1_795_575_060_000_000, [.nan, 0])]
        #expect(
            String(decoding: export(rows, of: .battery, .senml), as: UTF8.self) == """
                [
                {"bn":"urn:x-lockstep:g:a:","bt":1795575000.000001,"n":"battery.level","u":"/","v":0.5},
                {"n":"battery.state","vs":"charging"},
                {"bt":1795575060.000000,"n":"battery.state","vs":"unknown"}
                ]

                """)
    }
}
