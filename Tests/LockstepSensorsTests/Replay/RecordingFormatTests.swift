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

    @Test("a file with a device and the time in ms is no export")
    func deviceOfAnotherRecorder() async throws {
        let text = "device,t,x_g,y_g,z_g\na,1795575590250,0,0,-1\n"
        #expect(try await read(text).times == [1_795_575_590_250_000])
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

    @Test("a field is mapped to the time")
    func mappedTime() async throws {
        var format = RecordingFormat()
        format.mappings = try [RecordingFormat.Mapping("Time (s)=t_s", streams: .builtIn)]
        let recording = try await read("t,Time (s),x_g,y_g,z_g\n7,1.5,0,0,-1\n", format)
        #expect(recording.times == [1_500_000])
        #expect(await reason("t_us,x_g,y_g,z_g\n1,0,0,-1\n", format).contains("the header has no 'Time (s)'"))
        format.mappings.append(try RecordingFormat.Mapping("t=pressure.pressure", streams: .builtIn))
        let pressures = try await read("Time (s),t\n1.5,990\n", format)
        #expect(pressures.times == [1_500_000] && pressures.samples(of: .pressure)?.columns == [[990]])
        format.mappings.append(try RecordingFormat.Mapping("t=t_ms", streams: .builtIn))
        #expect(await reason("Time (s),t\n1.5,990\n", format).contains("--map gives the time twice"))
    }

    @Test(
        "wrong mappings are refused with advice",
        arguments: [
            ("ax", "FIELD=STREAM.COLUMN"), ("ax=nowhere.x", "no stream 'nowhere'"), ("ax=gyroscope.q", "no column 'q'"),
            ("ax=gyroscope.x:g", "no unit of motion/gyroscope (deg/s, rad/s)"), ("a=t_s:ms", "has its unit, as t_ms"),
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
    }

    private static let zero = "1795575590250000,2026-11-25T02:59:50.250000Z"

    @Test("an export of one stream says which it is, as CSV and as NDJSON")
    func oneStream() async throws {
        let csv = "group,device,stream,t,time,x,y,z\nlab,arm,motion/gyroscope,\(Self.zero),1,2,3\n"
        let json =
            #"{"group":"lab","device":"arm","stream":"motion/gyroscope","t":1795575590250000,"time":"2026","x":1,"y":2.5,"z":-3}"#
        #expect(try await read(csv).blocks.map(\.stream) == [.gyroscope])
        #expect(try await read(csv).samples(of: .gyroscope)?.columns == [[1], [2], [3]])
        let recording = try await read(json + "\n")
        #expect(recording.times == [1_795_575_590_250_000])
        #expect(recording.samples(of: .gyroscope)?.columns == [[1], [2.5], [-3]])
        let quoted = csv.replacing("motion/gyroscope", with: "\"motion/gyroscope\"")
        #expect(try await read(quoted).samples(of: .gyroscope)?.columns == [[1], [2], [3]])
        let other = "lab,arm,motion/accelerometer,\(Self.zero),1,2,3\n"
        #expect(
            await reason(csv + other).contains("begins with samples of motion/gyroscope, this one is of motion/acc"))
        #expect(
            await reason(csv.replacing("motion/gyroscope", with: "x/co2")).contains("the stream 'x/co2' is not decl"))
        #expect(
            await reason(json.replacing("motion/gyroscope", with: "x/co2")).contains("the stream 'x/co2' is not decl"))
    }

    @Test("values of NDJSON that are not finite are left out")
    func notFinite() async throws {
        let recording = try await read(
            [("0", "1013"), ("1", "NaN"), ("2", "Infinity"), ("3", "1012")]
                .map { #"{"t_us":\#($0),"pressure_hPa":\#($1)}"# + "\n" }.joined())
        #expect(recording.samples(of: .pressure)?.columns == [[1013, 1012]])
        #expect(recording.skipped.count == 2)
    }

    @Test("the streams of NDJSON may be mixed")
    func mixedStreams() async throws {
        let recording = try await read(
            """
            {"device":"arm","stream":"motion/accelerometer","t":1795575590250000,"x":0,"y":0,"z":-1}
            {"device":"arm","stream":"pressure","t":1795575590260000,"pressure":1013.25}
            {"device":"arm","stream":"location","t":1795575590270000,"lat":46.5,"lon":7.5,"alt":null}

            """)
        #expect(recording.samples(of: .accelerometer)?.count == 1)
        #expect(recording.samples(of: .pressure)?.columns == [[1013.25]])
        #expect(recording.samples(of: .location)?.columns[0] == [46.5])
        #expect(await reason("{\"t\":1795575590250000,\"pressure\":1}\n{\"t\":17\n").contains("JSON"))
    }

    @Test("a resampled table of one device is read, and of several is refused")
    func resampled() async throws {
        let header = "t,time,lab/arm/accelerometer_x,lab/arm/accelerometer_y,lab/arm/accelerometer_z"
        let table = try await read("\(header),lab/arm/pressure_pressure\n\(Self.zero),0,0,-1,\n")
        #expect(table.samples(of: .accelerometer)?.columns == [[0], [0], [-1]])
        #expect(table.samples(of: .pressure)?.count == 0)
        #expect(
            await reason("\(header),lab/leg/pressure_pressure\n\(Self.zero),0,0,-1,\n")
                .contains("several devices: lab/arm, lab/leg: export one device"))
    }

    @Test("the points of the tracks of GPX are the stream location")
    func gpx() async throws {
        let text = """
            <?xml version="1.0"?>
            <gpx version="1.1" creator="x"><!-- <trkpt lat="1" lon="1"> --><wpt lat="1" lon="2"><name>a</name></wpt>
            <trk><name>walk</name><trkseg><trkpt lat="46.5" lon='7.5'><ele>520.5</ele><time>2026-11-25T02:59:50Z</time>
            <fix>3d</fix><extensions><gpxtpx:speed>1.5</gpxtpx:speed></extensions></trkpt></trkseg><trkseg>
            <trkpt lon="7.6" lat="-46.6">
              <time> 2026-11-25T02:59:51.5Z </time>
            </trkpt></trkseg></trk></gpx>
            """
        let recording = try await read(text)
        #expect(recording.times == [1_795_575_590_000_000, 1_795_575_591_500_000])
        let columns = try #require(recording.samples(of: .location)?.columns)
        #expect(Array(columns[0...1]) == [[46.5, -46.6], [7.5, 7.6]])
        let names = SensorStream.location.columns.map(\.name)
        for (name, value) in [("alt", 520.5), ("speed", 1.5), ("fix", 3)] {
            let column = columns[try #require(names.firstIndex(of: name))]
            #expect(column[0] == value && column[1].isNaN, "\(name)")
        }
        #expect(
            await reason("<gpx><trk><trkseg><trkpt lat='1' lon='2'/></trkseg></trk></gpx>").contains(
                "no point has a time"))
        #expect(await reason("<html><p>a</p></html>").contains("no GPX with the points of a track"))
    }

    @Test("elements of GPX may have a prefix, and points without a time are left out")
    func gpxWithPrefix() async throws {
        let recording = try await read(
            """
            <gpx:gpx><gpx:trk><gpx:trkseg><gpx:trkpt lat="1" lon="2"/>
            <gpx:trkpt lat="46.5" lon="7.5">
            <gpx:time>2026-11-25T02:59:50Z</gpx:time></gpx:trkpt><gpx:trkpt lat="3" lon="4"></gpx:trkpt>
            </gpx:trkseg></gpx:trk></gpx:gpx>
            """)
        #expect(recording.times == [1_795_575_590_000_000])
        #expect(recording.samples(of: .location)?.columns[0] == [46.5])
        #expect(recording.skipped.count == 2 && recording.skipped.reason == "a point has no time")
        #expect(recording.skipped.line == 1)
    }

    @Test("files in other forms are refused with advice", arguments: ["PAR1\u{15}", "SQLite format 3\0"])
    func otherForms(start: String) async {
        #expect(await reason(start).contains("use 'lockstep export' with --format csv, ndjson or mcap"))
    }

    @Test("an export of several devices is refused with advice")
    func severalDevices() async throws {
        let text = "device,t,pressure\na,1795575590250000,1013\nb,1795575590250001,1013\n"
        #expect(await reason(text).contains("several devices, such as a and b: export one device"))
        let groups = """
            group,device,t,time,pressure
            lab,a,1795575590250000,2026-11-25T02:59:50.25Z,1013
            hall,a,1795575590250001,2026-11-25T02:59:50.250001Z,1013

            """
        #expect(await reason(groups).contains("several devices, such as lab/a and hall/a: export one device"))
        // In a file of another recorder, a group is something else.
        let labels = text.replacing("device,", with: "group,device,").replacing("\na", with: "\nwalk,a")
            .replacing("\nb", with: "\nrun,a")
        #expect(try await read(labels).times.count == 2)
    }
}
