import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep analyze attitude")
struct AnalyzeAttitudeTests {
    /// Returns a recording of a device at rest, rotated 90° to the left of north, with its top edge 30° up, recorded at
    /// 100 Hz for 10 s.
    /// - Parameters:
    ///   - reference: whether to add the true attitude.
    ///   - end: the end of each line.
    ///   - start: the time of the first row, in µs.
    ///   - place: latitude and longitude, recorded once, after 5 s; nil for none.
    private func recording(
        gyroscope: Bool = true, magnetometer: Bool = true, reference: Bool = false, end: String = "\n",
        start: Int = 0, place: (latitude: Double, longitude: Double)? = nil
    ) -> String {
        var header = ["t_us", "ax_m_s2", "ay_m_s2", "az_m_s2"]
        var row = ["0", "\(9.80665 * 0.5)", "\(9.80665 * 0.75.squareRoot())"]
        if gyroscope {
            header += ["gx_rad_s", "gy_rad_s", "gz_rad_s"]
            row += ["0", "0", "0"]
        }
        if magnetometer {
            // North is along x. The vertical component is distributed over y and z.
            header += ["mx_uT", "my_uT", "mz_uT"]
            row += ["20", "\(-40 * 0.5)", "\(-40 * 0.75.squareRoot())"]
        }
        if reference {
            header += ["qw", "qx", "qy", "qz", "movement"]
            // The heading differs from the true one by 0.1 rad, which the error does not include.
            let (yaw, pitch) = (Double.pi / 2 + 0.1, Double.pi / 6)
            row += [
                cos(yaw / 2) * cos(pitch / 2), cos(yaw / 2) * sin(pitch / 2), sin(yaw / 2) * sin(pitch / 2),
                sin(yaw / 2) * cos(pitch / 2),
            ].map { "\($0)" }
        }
        if place != nil { header += ["lat", "lon"] }
        var lines = [header.joined(separator: ",")]
        for index in 0..<1000 {
            let movement = reference ? [index < 300 ? "0" : "1"] : []
            let position = place.map { index == 500 ? ["\($0.latitude)", "\($0.longitude)"] : ["", ""] } ?? []
            lines.append((["\(start + index * 10_000)"] + row + movement + position).joined(separator: ","))
        }
        return lines.map { $0 + end }.joined()
    }

    private func analyze(
        _ text: String, _ options: [String] = []
    ) async throws -> (status: Int32, text: String, out: [[String: String]]) {
        try await withTemporaryFolder { folder in
            let path = folder + "/trial.csv"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let out = folder + "/out.csv"
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["analyze", "attitude", path, "--out", out] + options)
            let written = (try? String(contentsOfFile: out, encoding: .utf8)) ?? ""
            let separator: Character = written.contains(";") ? ";" : ","
            let rows = written.split(separator: "\n").map {
                $0.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
            }
            let table = rows.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(rows[0], $0)) }
            #expect(rows.allSatisfy { $0.count == rows.first?.count })
            return (run.status, run.text.replacingOccurrences(of: folder + "/", with: ""), table)
        }
    }

    @Test("the attitude is added to each row, and the error is reported if there is a reference")
    func reference() async throws {
        for end in ["\n", "\r\n"] {
            let run = try await analyze(recording(reference: true, end: end))
            #expect(run.status == 0)
            #expect(
                run.text == """
                    samples  1000 in 9.99 s (100.0 Hz)
                    sensors  accelerometer, gyroscope, magnetometer
                    frame    magneticNorth
                    error    0.00° total, 0.00° inclination (RMS)
                             700 rows, heading offset -5.73°
                    output   out.csv

                    """, "\(run.text)")
            #expect(run.out.count == 1000)
            let last = try #require(run.out.last)
            #expect(last["t_us"] == "9990000" && last["movement"] == "1" && last["frame"] == "magneticNorth")
            let number = last.compactMapValues { Double($0) }
            let expected: [String: Double] = [
                "yaw": .pi / 2, "pitch": .pi / 6, "roll": 0, "qw": cos(.pi / 4) * cos(.pi / 12), "gy": -0.5, "uy": 0,
            ]
            for (name, value) in expected { #expect(abs((number[name] ?? 99) - value) < 1e-3, "\(name)") }
            #expect(last["macc"] == "-1" && last["rx"] == "0.0")
            #expect(abs((number["ref_qw"] ?? 0) - (number["qw"] ?? 0)) > 0.01)
        }
    }

    /// Returns the recording with a change of the fields of each row.
    private func changed(_ text: String, _ change: (Int, inout [String]) -> Void) -> String {
        var lines = text.split(separator: "\n").map(String.init)
        for index in lines.indices.dropFirst() {
            var fields = lines[index].split(separator: ",").map(String.init)
            change(index, &fields)
            lines[index] = fields.joined(separator: ",")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    @Test("rows whose reference is no attitude are not compared, and without any reference there is no error")
    func lostReference() async throws {
        let lost = changed(recording(reference: true)) { index, fields in
            if index > 900 { fields.replaceSubrange(10..<14, with: ["0", "0", "0", "0"]) }
        }
        let run = try await analyze(lost)
        #expect(run.text.contains("600 rows, heading offset"), "\(run.text)")
        #expect(
            run.text.contains(
                "note     100 rows have no reference: (qw,qx,qy,qz) is no attitude, such as (0,0,0,0)\n"))
        let never = changed(recording(reference: true)) { _, fields in
            fields.replaceSubrange(10..<14, with: ["0", "0", "0", "0"])
        }
        let without = try await analyze(never)
        #expect(without.status == 0 && !without.text.contains("error    "), "\(without.text)")
        #expect(without.text.contains("such as (0,0,0,0); there is no error\n"))
    }

    @Test("the attitude is added to an export, and to a file with semicolons and dates, but only to CSV")
    func otherLayouts() async throws {
        let start = 1_795_575_590_000_000
        let known = try await analyze(recording(gyroscope: false, magnetometer: false, start: start))
        let pitch = try #require(known.out.last?["pitch"].flatMap(Double.init))
        let lines = recording(gyroscope: false, magnetometer: false, start: start).split(separator: "\n").dropFirst()
            .map { $0.split(separator: ",") }
        let export =
            "group,device,stream,t,time,x,y,z\n"
            + lines.map { row in
                // An export is in g with -1 at the upward axis.
                let axes = row.dropFirst().map { "\(-(Double($0) ?? 0) / 9.80665)" }.joined(separator: ",")
                return "lab,arm,motion/accelerometer,\(row[0]),2026-11-25T02:59:50Z,\(axes)\n"
            }.joined()
        let added = try await analyze(export)
        #expect(added.status == 0 && added.out.count == 1000, "\(added.text)")
        let last = try #require(added.out.last)
        #expect(try abs(#require(Double(last["pitch"] ?? "")) - pitch) < 1e-4 && last["device"] == "arm")
        let dates =
            "note;time;ax_m_s2;ay_m_s2;az_m_s2\n"
            + lines.enumerated().map { index, row in
                let time = String(format: "2026-11-25T02:59:%05.2fZ", 50 + Double(index) / 100)
                return "a;\(time);\(row.dropFirst().joined(separator: ";"))\n"
            }.prefix(900).joined()
        let dated = try await analyze(dates)
        #expect(dated.status == 0 && dated.out.count == 900, "\(dated.text)")
        #expect(try abs(#require(Double(dated.out.last?["pitch"] ?? "")) - pitch) < 1e-4)
        let json = #"{"t":1795575590000000,"x_g":0,"y_g":0,"z_g":-1}"# + "\n"
        let refused = try await analyze(json)
        #expect(refused.status == 1 && refused.text.contains("adds columns to CSV only"), "\(refused.text)")
        #expect(refused.out.isEmpty)
    }

    @Test("references at other times than all samples are an error, and single ones are reported")
    func otherTimes() async throws {
        let text = changed(recording(reference: true)) { index, fields in
            // The accelerometer has rows of its own.
            if index % 2 == 0 {
                fields.replaceSubrange(1..<4, with: ["", "", ""])
            } else {
                fields.replaceSubrange(10..<14, with: ["", "", "", ""])
            }
        }
        let run = try await analyze(text)
        #expect(run.status == 1)
        #expect(
            run.text.contains(
                "Error: trial.csv: no reference attitude (qw,qx,qy,qz) is on a row with an accelerometer sample"),
            "\(run.text)")
        #expect(run.text.contains("references have no attitude at the same time, and are not compared"), "\(run.text)")
        let single = try await analyze(
            changed(recording(reference: true)) { index, fields in
                if index == 900 { fields.replaceSubrange(1..<4, with: ["", "", ""]) }
            })
        #expect(
            single.text.contains("1 reference has no attitude at the same time, and is not compared"), "\(single.text)")
    }

    @Test("samples with equal times are reported")
    func equalTimes() async throws {
        let text = changed(recording()) { index, fields in fields[0] = "\((index - 1) / 4 * 40_000)" }
        let run = try await analyze(text)
        #expect(
            run.text.contains(
                "note     750 samples of accelerometer with the time of the sample before: only the first one of each time "
                    + "is used\n"), "\(run.text)")
    }

    @Test("unknown values and a step back are left out with a note, or refused with --strict")
    func faulty() async throws {
        let text = changed(recording(reference: true)) { index, fields in
            if index == 500 { fields[4] = "nan" }
            if index == 700 { fields[0] = "\((index - 1) * 10_000 - 20_000)" }
        }
        let run = try await analyze(text)
        #expect(run.status == 0)
        #expect(
            run.text.contains(
                "note     2 samples left out, the first in line 501: 'nan' is not a number (x of motion/gyroscope)\n"),
            "\(run.text)")
        #expect(run.out.count == 1000)
        let strict = try await analyze(text, ["--strict"])
        #expect(strict.status == 1 && strict.text.contains("trial.csv, line 501: 'nan' is not a number"))
    }

    @Test("missing sensors are reported with their consequences")
    func missing() async throws {
        let tilt = try await analyze(recording(gyroscope: false, magnetometer: false))
        #expect(tilt.text.contains("note     no gyroscope: the attitude is valid only while the device is at rest\n"))
        #expect(tilt.text.contains("note     no magnetometer: the heading is unknown and the frame is arbitrary\n"))
        let last = try #require(tilt.out.last)
        #expect(last["frame"] == "arbitrary" && last["rx"] == "" && last["mx"] == "" && last["macc"] == "")
        #expect(abs((Double(last["pitch"] ?? "") ?? 0) - .pi / 6) < 1e-4)
        let drifting = try await analyze(recording(magnetometer: false), ["--json"])
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(drifting.text.utf8)) as? [String: Any])
        #expect(object["frame"] as? String == "arbitrary")
        #expect(object["sensors"] as? [String] == ["motion/accelerometer", "motion/gyroscope"])
        #expect((object["notes"] as? [String])?.count == 1)
    }

    @Test("a recording in which all accelerations are zero has no attitude")
    func zero() async throws {
        let run = try await analyze("t_us,x_g,y_g,z_g\n0,0,0,0\n10000,0,0,0\n")
        #expect(run.text == "no attitude: all accelerometer values are zero\n")
    }

    @Test("true north is magnetic north corrected by the declination")
    func trueNorth() async throws {
        let run = try await analyze(recording(), ["--frame", "trueNorth", "--declination=10"])
        let yaw = try #require(Double(run.out.last?["yaw"] ?? ""))
        #expect(abs(yaw - (.pi / 2 - .pi / 18)) < 1e-4)
        let nowhere = try await analyze(recording(), ["--frame", "trueNorth"])
        #expect(nowhere.status != 0)
        #expect(
            nowhere.text.contains(
                "trial.csv: the recording has no position; --frame trueNorth requires the columns lat,lon, or "
                    + "--declination"), "\(nowhere.text)")
        let nullIsland = try await analyze(recording(place: (0, 0)), ["--frame", "trueNorth"])
        #expect(nullIsland.status != 0)
        #expect(nullIsland.text.contains("no position of the recording is plausible"), "\(nullIsland.text)")
    }

    @Test("the declination for true north is computed from the positions of the recording")
    func position() async throws {
        // At the start of 2025, the declination in Cape Town is about 25.9° W.
        let declination = -25.9 * Double.pi / 180
        let run = try await analyze(
            recording(start: 1_735_700_000_000_000, place: (-33.93, 18.42)), ["--frame", "trueNorth"])
        #expect(run.status == 0)
        #expect(run.text.contains("frame    trueNorth\nnote     declination from WMM2025\noutput"), "\(run.text)")
        #expect(run.out.count == 1000 && run.out.allSatisfy { $0["frame"] == "trueNorth" })
        for row in [run.out.first, run.out.last] {
            let yaw = try #require(Double(row?["yaw"] ?? ""))
            #expect(abs(yaw - (.pi / 2 - declination)) < 0.02, "\(yaw)")
        }
        let given = try await analyze(
            recording(place: (-33.93, 18.42)), ["--frame", "trueNorth", "--declination=10"])
        let yaw = try #require(Double(given.out.last?["yaw"] ?? ""))
        #expect(abs(yaw - (.pi / 2 - .pi / 18)) < 1e-4 && !given.text.contains("WMM2025"))
    }

    @Test("invalid options and recordings are refused with a suggestion")
    func rejected() async throws {
        let unknown = try await analyze(recording(), ["--frame", "moon"])
        #expect(unknown.status != 0)
        #expect(unknown.text.contains("'moon' is not one of arbitrary, arbitraryCorrected, magneticNorth, trueNorth"))
        let nothing = try await analyze("t_us,gx_rad_s,gy_rad_s,gz_rad_s\n0,0,0,0\n")
        #expect(
            nothing.status != 0 && nothing.text.contains("no three-axis accelerometer, only motion/gyroscope; attitude")
        )
        let nowhere = try await analyze(recording(), ["--out", "/nowhere/at/all.csv"])
        #expect(nowhere.status != 0 && nowhere.text.contains("cannot write /nowhere/at/all.csv"))
    }
}
