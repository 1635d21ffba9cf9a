import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep analyze orientation")
struct AnalyzeOrientationTests {
    /// Returns a recording at 50 Hz with each of the accelerations for 4 s.
    private func recording(
        _ accelerations: [(Double, Double, Double)], header: String = "x_g,y_g,z_g", scale: Double = 1,
        start: Int = 1_700_000_000_000_000
    ) -> String {
        var text = "t_us,\(header)\n"
        for (index, value) in accelerations.flatMap({ Array(repeating: $0, count: 200) }).enumerated() {
            let time = start + index * 20_000
            text += "\(time),\(value.0 * scale),\(value.1 * scale),\(value.2 * scale)\n"
        }
        return text
    }

    private func analyze(_ text: String, _ options: [String] = []) async throws -> (status: Int32, text: String) {
        try await withTemporaryFolder { folder in
            let path = folder + "/held.csv"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["analyze", "orientation", path] + options)
            return (run.status, run.text.replacingOccurrences(of: path, with: "held.csv"))
        }
    }

    private let positions = [(0.0, -1.0, 0.0), (-1, 0, 0), (0, 0, -1)]

    @Test("orientations are listed in aligned columns with wall-clock times")
    func table() async throws {
        let run = try await analyze(recording(positions))
        #expect(run.status == 0)
        #expect(
            run.text == """
                                   START  DURATION (s)  ORIENTATION    INCLINATION (°)
                2023-11-14T22:13:20.260Z          4.28  portrait                  90.0
                2023-11-14T22:13:24.540Z          4.02  landscapeLeft             83.0
                2023-11-14T22:13:28.560Z          3.42  faceUp                     1.0

                """, "\(run.text)")
    }

    @Test("for a recording without wall-clock times, times are seconds from the first sample")
    func relativeTimes() async throws {
        let run = try await analyze(recording(positions, start: 3_000_000))
        #expect(
            run.text == """
                START (s)  DURATION (s)  ORIENTATION    INCLINATION (°)
                     0.26          4.28  portrait                  90.0
                     4.54          4.02  landscapeLeft             83.0
                     8.56          3.42  faceUp                     1.0

                """, "\(run.text)")
    }

    @Test("JSON contains the intervals, with times as in the recording")
    func json() async throws {
        let run = try await analyze(recording(positions), ["--json"])
        #expect(run.status == 0)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
        #expect(object["samples"] as? Int == 600)
        let intervals = try #require(object["intervals"] as? [[String: Any]])
        #expect(intervals.map { $0["orientation"] as? String } == ["portrait", "landscapeLeft", "faceUp"])
        let starts = intervals.compactMap { $0["t"] as? Int }
        let durations = intervals.compactMap { $0["duration"] as? Double }
        #expect(starts.first == 1_700_000_000_260_000)
        for index in 1..<3 {
            #expect(Double(starts[index] - starts[index - 1]) == (durations[index - 1] * 1e6).rounded())
        }
        let upright = try #require(intervals[0]["inclination"] as? Double)
        #expect(abs(upright - .pi / 2) < 1e-5)
    }

    @Test("specific force is converted: always for m/s², and with --sign for g")
    func signs() async throws {
        let metric = try await analyze(recording([(0, 0, 1)], header: "ax_m_s2,ay_m_s2,az_m_s2", scale: 9.80665))
        #expect(metric.text.contains("faceUp") && !metric.text.contains("faceDown"), "\(metric.text)")
        let own = try await analyze(recording([(0, 0, 1)]))
        #expect(own.text.contains("faceDown"), "\(own.text)")
        let converted = try await analyze(recording([(0, 0, 1)]), ["--sign", "specific-force"])
        #expect(converted.text.contains("faceUp"), "\(converted.text)")
    }

    @Test("a phone in a hand during a recorded walk is face up", .enabled(if: recordingsFolder != nil))
    func walk() async throws {
        let folder = try #require(recordingsFolder)
        let file = folder + "/walks/Nexus_Jamie_Hard_InHand_1.csv"
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["analyze", "orientation", file, "--sign", "specific-force", "--json"])
        #expect(run.text.contains(#""orientation":"faceUp""#), "\(run.text)")
        #expect(!run.text.contains("faceDown") && !run.text.contains("UpsideDown"), "\(run.text)")
    }

    @Test("a recording without a detectable orientation is reported")
    func unclear() async throws {
        let run = try await analyze(recording([(0, 0, 0.1)]))
        #expect(run.status == 0)
        #expect(run.text == "no orientation detected in 200 samples over 3.98 s\n")
        let json = try await analyze(recording([(0, 0, 0.1)]), ["--json"])
        #expect(json.text == "{\"samples\":200,\"intervals\":[]}\n")
    }

    @Test("an invalid recording is refused with the reason")
    func mistakes() async throws {
        let cases: [(String, [String], String)] = [
            ("t_us,gx_rad_s,gy_rad_s,gz_rad_s\n0,0,0,0\n", [], "held.csv: no three-axis accelerometer"),
            ("t_us,magnitude_g\n0,1\n", [], "held.csv: no three-axis accelerometer"),
            ("t_us,x_g,y_g,z_g\n", [], "held.csv: no rows after the header"),
            ("t_us,x_g,y_g,z_g\n0,0,0,-1\n1,0,east,-1\n2,0,0,-1\n", [], "held.csv, line 3: 'east' is not a number"),
            (
                "t_us,x_m_s2,y_m_s2,z_m_s2\n0,0,0,9.8\n", ["--sign", "specific-force"],
                "these are in m/s² and always specific force"
            ),
            ("t_us,x_g,y_g,z_g\n0,0,0,-1\n", ["--sign", "up"], "'lockstep' and 'specific-force'"),
        ]
        for (text, options, answer) in cases {
            let run = try await analyze(text, options)
            #expect(run.status != 0)
            #expect(run.text.contains(answer), "\(run.text)")
        }
        let missing = try await RunningProgram.run(
            Programs.built("lockstep"), ["analyze", "orientation", "/nowhere.csv"])
        #expect(missing.status == 1)
        #expect(missing.text.contains("/nowhere.csv"), "\(missing.text)")
    }
}
