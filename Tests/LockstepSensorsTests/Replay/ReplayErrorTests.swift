import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Replay errors")
struct ReplayErrorTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let text: String
        var isStrict = false
        let line: Int?
        let reason: String
        var testDescription: String { reason }
    }

    static let cases = [
        Case(text: "", line: nil, reason: "the file is empty"),
        Case(
            text: "0,0.1,0.2,1\n", line: 1,
            reason: "the header is missing or has no time: the first line names the columns, the time as t_us"),
        Case(
            text: "t_us,pascal\n0,1\n", line: 1,
            reason:
                "t_us, pascal are not the columns of a stream: name them with --map FIELD=STREAM.COLUMN[:UNIT], such as"
        ),
        Case(text: "t_us,x_g,y_g\n0,1,1\n", line: 1, reason: "t_us, x_g, y_g are not the columns of a stream"),
        Case(text: "t_us,x_g,y_g,z_g,x_g\n0,1,1,1,1\n", line: 1, reason: "the header contains 'x_g' twice"),
        Case(text: "t_us,x_g,y_g,z_g\n\r\n\n", line: nil, reason: "no rows after the header"),
        Case(text: "t_us,x_g,y_g,z_g", line: nil, reason: "no rows after the header"),
        Case(
            text: "t_us,x_g,y_g,z_g\n0,0,0,1\n5,0,0\n9,0,0,1\n", line: 3,
            reason: "the header has 4 fields, this line has 3"),
        Case(
            text: "t_us,x_g,y_g,z_g\n0,0,0,1\n\n9,0,0,1\n", line: 3, reason: "the header has 4 fields, this line has 1"),
        Case(
            text: "t_us,x_g,y_g,z_g\n0,0,zero,1\n9,0,0,1\n", line: 2,
            reason: "'zero' is not a number (y of motion/accelerometer)"),
        Case(text: "t_us,x_g,y_g,z_g\n0,0,nan,1\n", isStrict: true, line: 2, reason: "'nan' is not a number"),
        Case(
            text: "t_us,x_g,y_g,z_g\n0,0,,1\n", isStrict: true, line: 2, reason: "y of motion/accelerometer is missing"),
        Case(
            text: "t_us,x_g,y_g,z_g\n1.5,0,0,1\n7,0,0,1\n", line: 2,
            reason: "the time is '1.5', not a whole number of µs"),
        Case(
            text: "t_us,x_g,y_g,z_g\n10,0,0,1\n20,0,0,1\n19,0,0,1\n", isStrict: true, line: 4,
            reason: "time goes backward, from 20 to 19 µs"),
        Case(
            text: "t_us,x_g,y_g,z_g\n10,0,0,1\n20,0,", line: nil,
            reason: "the last line is incomplete: the header has 4 fields, this line has 3"),
        Case(
            text: String(repeating: "x", count: 200_000), line: 1,
            reason: "longer than 65536 bytes, so the file is not CSV"),
    ]

    @Test("an error names the file, the line and the reason", arguments: cases)
    func error(_ wrong: Case) async throws {
        try await withFile(wrong.text) { file in
            let error = try await #require(throws: ReplayError.self) {
                _ = try await play(
                    ReplaySource(file: file, speed: .maximum, isStrict: wrong.isStrict))
            }
            #expect(error.file == file)
            #expect(error.line == wrong.line)
            #expect(error.reason.hasPrefix(wrong.reason))
            #expect(error.description.hasPrefix(wrong.line.map { "\(file), line \($0): " } ?? "\(file): "))
        }
    }

    @Test(
        "samples with unknown values and rows with a wrong time are left out and counted",
        arguments: [
            ("10,1\n20,nan\n30,3\n40,\n50,inf\n60,6\n", [1, 3, 6], 2, "line 3: 'nan' is not a number"),
            ("10,1\n20,NA\n30,null\n40,None\n50,n/a\n60,-\n70,7\n", [1, 7], 5, "line 3: 'NA' is not a number"),
            ("10,1\n20,2\n15,9\n20,3\n30,4\n", [1, 2, 3, 4], 1, "line 4: time goes backward, from 20 to 15 µs"),
            ("10,1\n20,2\n25,9\n15,8\n25,3\n", [1, 2, 9, 3], 1, "line 5: time goes backward, from 25 to 15 µs"),
            // A wrong time in the future does not make all later rows old.
            ("10,1\n9000,9\n20,2\n30,3\n", [1, 2, 3], 1, "line 3: time goes forward to 9000 µs and back to 20 µs"),
            ("9000,9\n10,1\n20,2\n", [1, 2], 1, "line 2: time goes forward to 9000 µs and back to 10 µs"),
        ] as [(String, [Double], Int, String)])
    func leftOut(rows: String, values: [Double], count: Int, first: String) async throws {
        try await withFile("t_us,pressure_hPa\n" + rows) { file in
            let recording = try Recording(file: file)
            #expect(recording.samples(of: .pressure)?.columns[0] == values)
            #expect(recording.skipped.count == count)
            #expect("line \(recording.skipped.line): \(recording.skipped.reason)".hasPrefix(first))
            let seen = try await play(ReplaySource(file: file, speed: .maximum))
            #expect(seen.samples(.pressure).columns[0] == values)
            #expect(seen.statuses.contains(.degraded("\(recording.skipped)")))
            #expect(seen.statuses.last == .ended)
            #expect(throws: ReplayError.self) { _ = try Recording(file: file, isStrict: true) }
        }
    }

    @Test("an unknown value costs only the sample of its sensor")
    func otherSensor() async throws {
        try await withFile("t_us,x_g,y_g,z_g,gx_rad_s,gy_rad_s,gz_rad_s\n0,0,0,-1,1,nan,1\n10,0,0,-1,1,1,1\n") { file in
            let recording = try Recording(file: file)
            #expect(recording.samples(of: .accelerometer)?.count == 2)
            #expect(recording.samples(of: .gyroscope)?.times == [10])
        }
    }

    @Test("an unknown value of an optional column costs only that value", arguments: ["nan", "NA", ""])
    func optionalColumn(unknown: String) async throws {
        try await withFile("t_us,lat,lon,speed\n1,1,2,3\n2,1,2,\(unknown)\n") { file in
            let recording = try Recording(file: file)
            #expect(recording.samples(of: .location)?.times == [1, 2])
            #expect(recording.skipped.count == (unknown.isEmpty ? 0 : 1))
        }
    }

    @Test("an impossible position is left out, and a course of 360 degrees is north")
    func impossiblePosition() async throws {
        try await withFile("t_us,lat,lon,course\n1,91,0,0\n2,90,-180,360\n3,0,180.5,\n4,,,\n") { file in
            let recording = try Recording(file: file)
            #expect(recording.samples(of: .location)?.times == [2])
            #expect(recording.samples(of: .location)?.columns[6] == [0])
            #expect(recording.skipped.count == 2)
            #expect(recording.skipped.reason == "91.0 is not a lat of location")
        }
    }

    @Test("a recording whose time steps back for many rows is refused, with the line")
    func severalRecordings() async throws {
        let rows = (Array(100...120) + Array(0...20)).map { "\($0),1\n" }.joined()
        try await withFile("t_us,pressure_hPa\n" + rows) { file in
            let error = #expect(throws: ReplayError.self) { _ = try Recording(file: file) }
            #expect(error?.line == 33)
            #expect(error?.reason.hasSuffix("and stays there: split the recording at this line") == true)
        }
    }

    @Test("a missing file and a folder are rejected")
    func noFile() {
        #expect(
            throws: ReplayError(file: "/nowhere/a.csv", line: nil, reason: "No such file or directory: check the path")
        ) {
            _ = try ReplaySource(file: "/nowhere/a.csv")
        }
        #expect(throws: ReplayError(file: "/tmp", line: nil, reason: "this is a folder: name a file in it")) {
            _ = try ReplaySource(file: "/tmp")
        }
    }

    @Test("the rows before a malformed one are delivered")
    func before() async throws {
        try await withFile("t_us,x_g,y_g,z_g\n0,0,0,1\n1,0,0,1\n2,0,1\n3,0,0,1") { file in
            let sink = RecordingSink()
            await #expect(throws: ReplayError.self) {
                try await ReplaySource(file: file, speed: .maximum).run(into: sink)
            }
            #expect(sink.seen.samples(.accelerometer).count == 2)
            #expect(sink.seen.statuses == [.running])
        }
    }
}
