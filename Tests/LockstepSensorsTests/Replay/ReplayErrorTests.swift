import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Replay errors")
struct ReplayErrorTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let text: String
        let line: Int?
        let reason: String
        var testDescription: String { reason }
    }

    static let cases = [
        Case(text: "", line: nil, reason: "the file is empty"),
        Case(
            text: "0,0.1,0.2,1\n", line: 1,
            reason: "the header is missing or has no t_us; a recording has t_us with x_g"),
        Case(text: "t_us,pascal\n0,1\n", line: 1, reason: "the header contains no stream; a recording has t_us with"),
        Case(text: "t_us,x_g,y_g\n0,1,1\n", line: 1, reason: "the header contains no stream"),
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
        Case(text: "t_us,x_g,y_g,z_g\n0,0,nan,1\n", line: 2, reason: "'nan' is not a number"),
        Case(text: "t_us,x_g,y_g,z_g\n0,0,,1\n", line: 2, reason: "y of motion/accelerometer is missing"),
        Case(
            text: "t_us,x_g,y_g,z_g\n1.5,0,0,1\n7,0,0,1\n", line: 2, reason: "t_us is '1.5', not a whole number of µs"),
        Case(
            text: "t_us,x_g,y_g,z_g\n10,0,0,1\n20,0,0,1\n19,0,0,1\n", line: 4,
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
                _ = try await play(ReplaySource(file: file, speed: .maximum))
            }
            #expect(error.file == file)
            #expect(error.line == wrong.line)
            #expect(error.reason.hasPrefix(wrong.reason))
            #expect(error.description.hasPrefix(wrong.line.map { "\(file), line \($0): " } ?? "\(file): "))
        }
    }

    @Test("a missing file and a folder are rejected")
    func noFile() {
        #expect(throws: ReplayError(file: "/nowhere/a.csv", line: nil, reason: "No such file or directory")) {
            _ = try ReplaySource(file: "/nowhere/a.csv")
        }
        #expect(throws: ReplayError(file: "/tmp", line: nil, reason: "not a regular file")) {
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
