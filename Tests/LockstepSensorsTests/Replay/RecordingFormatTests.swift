import Foundation
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepSensors

@Suite("Columns, units and times of recordings")
struct RecordingFormatTests {
    private func read(_ text: String, _ format: RecordingFormat = RecordingFormat()) async throws -> Recording {
        try await withTemporaryFolder { folder in
            let file = folder + "/a.csv"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            return try Recording(file: file, format: format)
        }
    }

    private func reason(_ text: String, _ format: RecordingFormat = RecordingFormat()) async -> String {
        do { _ = try await read(text, format) } catch { return "\(error)" }
        return ""
    }

    @Test(
        "times are read in the unit of the header, or in the only one in which they are a date",
        arguments: [
            ("t_s", "1795575590.25"), ("t_ms", "1795575590250"), ("t_us", "1795575590250000"),
            ("t_ns", "1795575590250000000"), ("time", "1795575590.25"), ("timestamp", "1795575590250"),
            ("t", "1795575590250000"), ("time", "1795575590250000000"), ("time", "2026-11-25T02:59:50.25Z"),
            ("time", "\"2026-11-25 03:59:50.25+01:00\""),
        ])
    func times(name: String, text: String) async throws {
        #expect(try await read("\(name),x_g,y_g,z_g\n\(text),0,0,-1\n").times == [1_795_575_590_250_000])
    }

    @Test("times that are no date need a unit")
    func relativeTimes() async throws {
        let text = "time,x_g,y_g,z_g\n0,0,0,-1\n0.01,0,0,-1\n"
        #expect(await reason(text).contains("--time-unit s, ms, us or ns"))
        var format = RecordingFormat()
        format.timeUnit = .seconds
        #expect(try await read(text, format).times == [0, 10_000])
    }

    @Test("semicolons with decimal commas, tabs and quotation marks are read", arguments: [";", "\t"])
    func separators(separator: String) async throws {
        let text = "\"t_s\",x_g,y_g,z_g\n1,5,0,25,\"0\",-1\n"
        let fields = text.replacing(",x_g,y_g,z_g", with: "\(separator)x_g\(separator)y_g\(separator)z_g")
            .replacing("1,5,0,25,\"0\",-1", with: ["1,5", "0,25", "\"0\"", "-1"].joined(separator: separator))
        let recording = try await read(fields)
        #expect(recording.times == [1_500_000])
        #expect(recording.samples(of: .accelerometer)?.columns == [[0.25], [0], [-1]])
    }

    @Test("fields are mapped to columns, with the factor of their unit")
    func mappings() async throws {
        var format = RecordingFormat()
        format.mappings = try ["ax=accelerometer.x:m/s2", "ay=y:m/s2", "az=z:m/s2", "p=pressure.pressure:Pa"]
            .map { try RecordingFormat.Mapping($0, streams: .builtIn) }
        let recording = try await read("t_us,ax,ay,az,p\n1,0,0,9.80665,101325\n", format)
        #expect(recording.samples(of: .accelerometer)?.columns == [[0], [0], [-1]])
        #expect(recording.samples(of: .pressure)?.columns == [[1013.25]])
        #expect(await reason("t_us,p\n1,101325\n", format).contains("the header has no 'a"))
    }

    @Test(
        "wrong mappings are refused with advice",
        arguments: [
            ("ax", "FIELD=STREAM.COLUMN"), ("ax=nowhere.x", "no stream 'nowhere'"), ("ax=gyroscope.q", "no column 'q'"),
            ("ax=gyroscope.x:g", "no unit of motion/gyroscope (deg/s, rad/s)"),
        ])
    func wrongMappings(text: String, part: String) {
        let error = #expect(throws: SourceSpecificationError.self) {
            try RecordingFormat.Mapping(text, streams: .builtIn)
        }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test("an export of several streams, and of one whose columns are its own, is read as it is")
    func exports() async throws {
        let several = try await read(
            """
            group,device,t,time,accelerometer_x,accelerometer_y,accelerometer_z,gyroscope_x,gyroscope_y,gyroscope_z
            lab,arm,1,1970-01-01T00:00:00.000001Z,0.0,0.0,-1.0,,,
            lab,arm,2,1970-01-01T00:00:00.000002Z,0.0,0.5,-1.0,1.0,2.0,3.0

            """.replacing(",1,1970", with: ",1795575590250000,1970").replacing(
                ",2,1970", with: ",1795575590250001,1970"))
        #expect(several.samples(of: .accelerometer)?.count == 2)
        #expect(several.samples(of: .gyroscope)?.columns == [[1], [2], [3]])
        let one = "group,device,t,time,x,y,z\nlab,arm,1795575590250000,2026-11-25T02:59:50.250000Z,0,0,-1\n"
        #expect(await reason(one).contains("motion/accelerometer, motion/gyroscope, motion/magnetometer"))
        var format = RecordingFormat()
        format.preferred = .accelerometer
        #expect(try await read(one, format).samples(of: .accelerometer)?.columns == [[0], [0], [-1]])
    }

    @Test("an export of several devices is refused with advice")
    func severalDevices() async {
        let text = "device,t,pressure\na,1795575590250000,1013\nb,1795575590250001,1013\n"
        #expect(await reason(text).contains("several devices, such as a and b: export one device"))
    }
}
