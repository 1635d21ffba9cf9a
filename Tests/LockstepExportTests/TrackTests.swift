import LockstepModel
import LockstepStore
import Testing

@testable import LockstepExport

@Suite("Tracks as GPX and GeoJSON")
struct TrackTests {
    static let start: Int64 = 1_700_000_000_000_000

    @Test("GPX has a track per device, segments between gaps, and extensions for accuracy, speed and course")
    func gpx() {
        let rows = [
            fix("left", 0, 46.5, 7.5, altitude: 400, measures: [5, 8, 1.5, 90], dimensions: 3),
            fix("left", 1, 1e-7, 180, dimensions: 2), fix("left", 61, 46.5, 7.5),
            fix("right", 61, -46.5, -7.5, dimensions: 1),
        ]
        let text = exported(GPXWriter(gap: 60_000_000, creator: "test 1"), sets: [Array(rows[..<3]), [rows[3]]])
        #expect(
            text.split(separator: "\n").dropFirst(2).joined(separator: "\n")
                == """
                <trk>
                <name>lab/left</name>
                <trkseg>
                <trkpt lat="46.5" lon="7.5"><ele>400.0</ele><time>2023-11-14T22:13:20Z</time><fix>3d</fix>\
                <extensions><gpxtpx:TrackPointExtension><gpxtpx:speed>1.5</gpxtpx:speed><gpxtpx:course>90.0\
                </gpxtpx:course></gpxtpx:TrackPointExtension><lockstep:hacc>5.0</lockstep:hacc><lockstep:vacc>8.0\
                </lockstep:vacc></extensions></trkpt>
                <trkpt lat="0.0000001" lon="-180"><time>2023-11-14T22:13:21Z</time><fix>2d</fix></trkpt>
                </trkseg>
                <trkseg>
                <trkpt lat="46.5" lon="7.5"><time>2023-11-14T22:14:21Z</time></trkpt>
                </trkseg>
                </trk>
                <trk>
                <name>lab/right</name>
                <trkseg>
                <trkpt lat="-46.5" lon="-7.5"><time>2023-11-14T22:14:21Z</time><fix>none</fix></trkpt>
                </trkseg>
                </trk>
                </gpx>
                """.replacing(#"lon="-180""#, with: #"lon="-180.0""#))
    }

    @Test("refined positions are a track, without dimensions", arguments: [ExportFormat.gpx, .geojson])
    func refined(format: ExportFormat) throws {
        let stream = RefinedKind.location.stream
        let rows = (0..<2).map { second in
            SampleRow(
                device: DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left")),
                time: Timestamp(microseconds: Self.start + Int64(second) * 1_000_000),
                values: [46.5 + Double(second), 7.5, 2.5, 1.25, .nan, 1, 0])
        }
        var writer = ExportSubject.stream(stream).writer(format: format, gap: 60_000_000, creator: "test 1")
        var output = OutputBuffer()
        writer.begin(into: &output)
        for row in rows { writer.write(row, into: &output) }
        writer.end(into: &output)
        let text = String(decoding: output.bytes, as: UTF8.self)
        #expect(
            text.contains(
                format == .gpx
                    ? #"<trkpt lat="46.5" lon="7.5"><time>2023-11-14T22:13:20Z</time><extensions>"#
                        + "<gpxtpx:TrackPointExtension><gpxtpx:speed>1.25</gpxtpx:speed>"
                    : #""coordinates":[[7.5,46.5],[7.5,47.5]]"#), "\(text)")
    }

    @Test(
        "a decimal has no exponent",
        arguments: [
            (1e-7, "0.0000001"), (-1.25e-9, "-0.00000000125"), (1e16, "10000000000000000"),
            (1.25e20, "125000000000000000000"), (-3.5, "-3.5"), (0, "0.0"),
        ])
    func decimals(value: Double, text: String) {
        var output = OutputBuffer()
        output.append(decimal: value)
        #expect(String(decoding: output.bytes, as: UTF8.self) == text)
    }

    @Test("a track without gaps is a LineString with its times and known measures")
    func line() {
        let rows = [
            fix("left", 0, 46.5, 7.5, altitude: 400, measures: [5, .nan, .nan, .nan]), fix("left", 1, 46.25, 7.25),
        ]
        #expect(
            exported(GeoJSONWriter(gap: 60_000_000), sets: [rows]) == """
                {"type":"FeatureCollection","features":[
                {"type":"Feature","geometry":{"type":"LineString","coordinates":[[7.5,46.5,400.0],[7.25,46.25]]},\
                "properties":{"group":"lab","device":"left","coordinateProperties":{"times":\
                ["2023-11-14T22:13:20.000000Z","2023-11-14T22:13:21.000000Z"],"hacc":[5.0,null]}}}
                ]}

                """)
    }

    @Test(
        "a GPX time has at most three decimals, and none if they are zero",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00Z"), (1_500_000, "1970-01-01T00:00:01.500Z"),
            (1_000_999, "1970-01-01T00:00:01Z"), (3_123_999, "1970-01-01T00:00:03.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ])
    func shortTimes(_ time: Int64, _ text: String) {
        var output = OutputBuffer()
        var writer = TimeWriter(isShort: true)
        writer.write(Timestamp(microseconds: time), into: &output)
        #expect(String(decoding: output.bytes, as: UTF8.self) == text)
    }

    @Test("each part without gaps is a LineString, and lone fixes are points")
    func gaps() {
        let rows = [
            fix("left", 0, 1, 1), fix("left", 1, 2, 2), fix("left", 100, 3, 3, measures: [5, 6, 7, 8]),
            fix("left", 200, 4, 4), fix("left", 201, 5, 5), fix("left", 300, 6, 6),
        ]
        #expect(
            exported(GeoJSONWriter(gap: 60_000_000), sets: [rows, [fix("right", 0, 9, 9)]]) == """
                {"type":"FeatureCollection","features":[
                {"type":"Feature","geometry":{"type":"LineString","coordinates":[[1.0,1.0],[2.0,2.0]]},\
                "properties":{"group":"lab","device":"left","coordinateProperties":{"times":\
                ["2023-11-14T22:13:20.000000Z","2023-11-14T22:13:21.000000Z"]}}},
                {"type":"Feature","geometry":{"type":"Point","coordinates":[3.0,3.0]},"properties":{"group":"lab",\
                "device":"left","time":"2023-11-14T22:15:00.000000Z","hacc":5.0,"vacc":6.0,"speed":7.0,"course":8.0}},
                {"type":"Feature","geometry":{"type":"LineString","coordinates":[[4.0,4.0],[5.0,5.0]]},\
                "properties":{"group":"lab","device":"left","coordinateProperties":{"times":\
                ["2023-11-14T22:16:40.000000Z","2023-11-14T22:16:41.000000Z"]}}},
                {"type":"Feature","geometry":{"type":"Point","coordinates":[6.0,6.0]},"properties":{"group":"lab",\
                "device":"left","time":"2023-11-14T22:18:20.000000Z","hacc":null,"vacc":null,"speed":null,"course":null}},
                {"type":"Feature","geometry":{"type":"Point","coordinates":[9.0,9.0]},"properties":{"group":"lab",\
                "device":"right","time":"2023-11-14T22:13:20.000000Z","hacc":null,"vacc":null,"speed":null,"course":null}}
                ]}

                """)
    }

    @Test("a line is cut at the 180th meridian, with interpolated points on both sides")
    func antimeridian() {
        let rows = [
            fix("left", 0, 10, 179, altitude: 100, measures: [5, .nan, .nan, .nan]),
            fix("left", 4, 14, -177, altitude: 500, measures: [6, .nan, .nan, .nan]),
        ]
        let text = exported(GeoJSONWriter(gap: 60_000_000), sets: [rows])
        #expect(text.contains("[[179.0,10.0,100.0],[180.0,11.0,200.0]]"))
        #expect(text.contains("[[-180.0,11.0,200.0],[-177.0,14.0,500.0]]"))
        #expect(text.contains(#""hacc":[5.0,null]"#) && text.contains(#""hacc":[null,6.0]"#))
        let edge = #""2023-11-14T22:13:21.000000Z""#
        #expect(text.contains(#"["2023-11-14T22:13:20.000000Z",\#(edge)]"#))
        #expect(text.contains(#"[\#(edge),"2023-11-14T22:13:24.000000Z"]"#))
    }

    @Test("a line is cut after 1,000 fixes, and the next one begins with its last fix")
    func longLine() throws {
        let rows = (0..<Int64(1_001)).map { fix("left", $0, 1, Double($0) / 1000) }
        let lines = exported(GeoJSONWriter(gap: 60_000_000), sets: [rows]).split(separator: "\n").dropFirst().dropLast()
        #expect(lines.map { $0.split(separator: "],[").count } == [1_000, 2])
        #expect(lines.last?.contains(#""coordinates":[[0.999,1.0],[1.0,1.0]]}"#) == true)
        // A line that would have only the last fix of the previous one is left out.
        let whole = exported(GeoJSONWriter(gap: 60_000_000), sets: [rows.dropLast()])
        #expect(whole.split(separator: "LineString").count == 2)
    }

    @Test(
        "a fix on the 180th meridian belongs to the side of its neighbour",
        arguments: [
            ([180, -179], "[[-180.0,0.0],[-179.0,1.0]]"), ([-180, 179], "[[180.0,0.0],[179.0,1.0]]"),
            ([179, -180], "[[179.0,0.0],[180.0,1.0]]"),
            ([179, 180, -179], "[[179.0,0.0],[180.0,1.0]] [[-180.0,1.0],[-179.0,2.0]]"),
            ([-179, 180, 179], "[[-179.0,0.0],[-180.0,1.0]] [[180.0,1.0],[179.0,2.0]]"),
            ([180, -180], "[[-180.0,0.0],[-180.0,1.0]]"),
        ] as [([Double], String)])
    func onMeridian(longitudes: [Double], coordinates: String) {
        let rows = longitudes.enumerated().map { fix("left", Int64($0), Double($0), $1) }
        let text = exported(GeoJSONWriter(gap: 60_000_000), sets: [rows])
        for line in coordinates.split(separator: " ") {
            #expect(text.contains("\"coordinates\":\(line)}"), "\(text)")
        }
    }

    @Test("rows without a valid position are left out", arguments: [(Double.nan, 7.5), (91, 7.5), (46.5, 181)])
    func positions(latitude: Double, longitude: Double) {
        let row = fix("left", 0, latitude, longitude)
        #expect(!ExportSubject.track.contains(row))
        #expect(ExportSubject.stream(.location).contains(row))
        #expect(!exported(GPXWriter(gap: 1, creator: "test"), sets: [[row]]).contains("trk"))
        #expect(!exported(GeoJSONWriter(gap: 1), sets: [[row]]).contains("Feature\""))
    }
}

/// Returns a row of the stream `location`, `seconds` after the start.
func fix(
    _ device: String, _ seconds: Int64, _ latitude: Double, _ longitude: Double, altitude: Double = .nan,
    measures: [Double] = [.nan, .nan, .nan, .nan], dimensions: Double = .nan
) -> SampleRow {
    row(
        device, TrackTests.start + seconds * 1_000_000,
        [latitude, longitude, altitude] + measures + [dimensions, .nan])
}

/// Returns the file that a writer makes of these sets of rows of one stream.
func exported(_ writer: some RowWriter, sets: [[SampleRow]]) -> String {
    var writer = writer
    var output = OutputBuffer()
    writer.begin(into: &output)
    for rows in sets {
        for row in rows { writer.write(row, into: &output) }
    }
    writer.end(into: &output)
    return String(decoding: output.bytes, as: UTF8.self)
}
