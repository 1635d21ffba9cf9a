import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep analyze steps")
struct AnalyzeStepsTests {
    /// Returns a recording at 50 Hz: 4 s of rest, steps of 0.5 s as smooth peaks, and 5 s of rest; repeated for each
    /// walk.
    private func recording(steps: Int, walks: Int = 1) -> String {
        var text = "t_us,magnitude_g\n"
        let walk = 200 + 25 * steps + 250
        for index in 0..<walk * walks {
            let step = index % walk - 200
            let isStep = step >= 0 && step < 25 * steps
            let value = isStep ? 1 + 0.3 * (1 - cos(2 * .pi * Double(step % 25) / 25)) : 1
            text += "\(1_700_000_000_000_000 + index * 20_000),\(value)\n"
        }
        return text
    }

    private func analyze(_ text: String, _ options: [String] = []) async throws -> (status: Int32, text: String) {
        try await withTemporaryFolder { folder in
            let path = folder + "/walk.csv"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(Programs.built("lockstep"), ["analyze", "steps", path] + options)
            return (run.status, run.text.replacingOccurrences(of: path, with: "walk.csv"))
        }
    }

    @Test("walks are listed in aligned columns, followed by a summary")
    func table() async throws {
        let run = try await analyze(recording(steps: 40, walks: 2), ["--step-length", "0.7"])
        #expect(run.status == 0)
        #expect(
            run.text == """
                                   START  DURATION (s)  STEPS  DISTANCE (m)  PACE (s/m)  CADENCE (steps/s)
                2023-11-14T22:13:25.790Z         18.64     37          25.9        0.72               1.98
                2023-11-14T22:13:53.290Z         20.14     40          28.0        0.72               1.99
                77 steps, 53.9 m in 38.78 s of walking (0.72 s/m, 1.99 steps/s); 57.98 s recorded

                """, "\(run.text)")
    }

    @Test("JSON contains the steps and distance of each walk, with times as in the recording")
    func json() async throws {
        let run = try await analyze(recording(steps: 40, walks: 2), ["--step-length", "0.7", "--json"])
        #expect(run.status == 0)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
        #expect(object["samples"] as? Int == 2 * 1450)
        #expect(object["steps"] as? Int == 77)
        #expect(object["distance"] as? Double == 53.9)
        #expect(object["cadence"] as? Double == 1.986)
        #expect(object["pace"] as? Double == 0.719)
        #expect(object["walked"] as? Double == 38.78)
        let walks = try #require(object["walks"] as? [[String: Any]])
        #expect(walks.map { $0["steps"] as? Int } == [37, 40])
        #expect(walks.map { $0["distance"] as? Double } == [25.9, 28])
        let starts = walks.compactMap { $0["t"] as? Int }
        #expect(abs((starts.first ?? 0) - 1_700_000_004_000_000) < 2_000_000)
        #expect((starts.last ?? 0) - (starts.first ?? 0) == 27_500_000)
    }

    @Test("floors are counted with a pressure, and absent without one")
    func floors() async throws {
        let lines = recording(steps: 60).split(separator: "\n")
        // 4 m up from 10 s to 26 s: 0.119 hPa for each m.
        let climb = lines.enumerated().map { index, line in
            guard index > 0 else { return line + ",pressure_hPa" }
            let seconds = Double(index) / 50
            return line + (index % 50 == 0 ? ",\(1000 - 0.119 * min(max(0, seconds - 10), 16) / 4)" : ",")
        }
        let run = try await analyze(climb.joined(separator: "\n") + "\n")
        #expect(run.text.hasSuffix("s recorded\n1 floor up, 0 down\n"), "\(run.text)")
        let json = try await analyze(climb.joined(separator: "\n") + "\n", ["--json"])
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
        #expect(object["floors_ascended"] as? Int == 1 && object["floors_descended"] as? Int == 0)
        let without = try await analyze(recording(steps: 60), ["--json"])
        #expect(!without.text.contains("floors"))
    }

    @Test("the estimated distance is proportional to the height")
    func height() async throws {
        let short = try await analyze(recording(steps: 30), ["--height", "1.5", "--json"])
        let tall = try await analyze(recording(steps: 30), ["--height", "2", "--json"])
        func distance(_ run: (status: Int32, text: String)) throws -> Double {
            let object = try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any]
            return try #require(object?["distance"] as? Double)
        }
        #expect(abs(try distance(tall) / distance(short) - 4.0 / 3) < 0.001)
    }

    @Test("a recording without steps is reported")
    func none() async throws {
        let run = try await analyze(recording(steps: 3))
        #expect(run.status == 0)
        #expect(run.text == "no steps in 525 samples over 10.48 s\n")
        let json = try await analyze(recording(steps: 3), ["--json"])
        #expect(json.text == "{\"samples\":525,\"duration\":10.48,\"steps\":0,\"walks\":[]}\n")
    }

    @Test("samples that are left out and equal times are noted")
    func notes() async throws {
        let run = try await analyze("t_us,magnitude_g\n0,1\n20000,nan\n40000,1\n40000,1\n60000,1\n")
        #expect(
            run.text == """
                no steps in 4 samples over 0.06 s
                note: 1 sample left out in line 3: 'nan' is not a number (z of motion/accelerometer)
                note: 1 sample of accelerometer with the time of the sample before: only the first one of each time is used

                """, "\(run.text)")
    }

    @Test("invalid recordings and options are refused with the reason")
    func mistakes() async throws {
        let rest = "t_us,x_g,y_g,z_g\n0,0,0,-1\n"
        let cases: [(String, [String], String)] = [
            (
                "t_us,gx_rad_s,gy_rad_s,gz_rad_s\n0,0,0,0\n", [],
                "walk.csv: no accelerometer, only motion/gyroscope; add x_g,y_g,z_g"
            ),
            ("t_us,magnitude_g\n", [], "walk.csv: no rows after the header"),
            ("t_us,magnitude_g\n0,1\n1,one\n2,1\n", [], "walk.csv, line 3: 'one' is not a number"),
            ("t_us,magnitude_g\n5,1\n1,1\n", ["--strict"], "line 3: time goes back"),
            (rest, ["--height", "175"], "use a height in metres from 0.3 to 3, such as 1.75"),
            (rest, ["--step-length", "0"], "use a length in metres from 0.1 to 3, such as 0.7"),
            (rest, ["--step-length", "0.7", "--height", "1.75"], "use either --step-length or --height"),
            (rest, ["--step-length", "far"], "far"),
        ]
        for (text, options, answer) in cases {
            let run = try await analyze(text, options)
            #expect(run.status != 0)
            #expect(run.text.contains(answer), "\(run.text)")
        }
        let missing = try await RunningProgram.run(Programs.built("lockstep"), ["analyze", "steps", "/nowhere.csv"])
        #expect(missing.status == 1)
        #expect(missing.text.contains("/nowhere.csv"), "\(missing.text)")
    }
}
