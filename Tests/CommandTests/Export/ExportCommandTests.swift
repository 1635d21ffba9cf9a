import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep export")
struct ExportCommandTests {
    @Test("a stream is exported as CSV to standard output by default")
    func csv() async throws {
        try await withStore { store in
            let run = try await lockstep(["export", "accelerometer"], store)
            #expect(run.status == 0)
            #expect(run.text == (try await lockstep(["query", "accelerometer", "--csv"], store)).text)
            #expect(run.text.split(separator: "\n").count == 4)
        }
    }

    @Test(
        "the extension of the file selects the format",
        arguments: [
            ("track.gpx", "<?xml"), ("track.GeoJSON", "{\"type\":\"FeatureCollection\""),
            ("track.ndjson", "{\"group\""),
            ("track.mcap", "\u{FFFD}MCAP0"), ("track.csv", "group,"), ("track", "group,"),
            ("track.jsonl", "{\"group\""),
        ])
    func formats(name: String, start: String) async throws {
        try await withStore { store in
            let path = URL(fileURLWithPath: store).deletingLastPathComponent().path + "/" + name
            let run = try await lockstep(["export", "track", "--out", path], store)
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(run.text == "\(path): 1 sample of 1 device, \(data.count) bytes\n")
            #expect(run.status == 0)
            #expect(String(decoding: data, as: UTF8.self).hasPrefix(start))
            #expect(try exportedFiles(beside: store) == [name])
        }
    }

    @Test("one table has all devices and streams at one rate")
    func table() async throws {
        try await withStore { store in
            let run = try await lockstep(["export", "accelerometer", "--resample", "200", "--time", "device"], store)
            #expect(
                run.text == """
                    t,time,default/left/accelerometer_x,default/left/accelerometer_y,default/left/accelerometer_z,\
                    lab/right/accelerometer_x,lab/right/accelerometer_y,lab/right/accelerometer_z
                    1700000000000000,2023-11-14T22:13:20.000000Z,0.5,0.0,-1.0,0.5,0.0,-1.0
                    1700000000005000,2023-11-14T22:13:20.005000Z,0.375,0.0,-1.0,,,
                    1700000000010000,2023-11-14T22:13:20.010000Z,0.25,0.0,-1.0,,,

                    """, "\(run.text)")
        }
    }

    @Test("an existing file is replaced only with --force, and keeps its permissions")
    func existing() async throws {
        try await withStore { store in
            let path = URL(fileURLWithPath: store).deletingLastPathComponent().path + "/out.csv"
            try Data("old".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            let refused = try await lockstep(["export", "steps", "--out", path], store)
            #expect(refused.text.contains("no samples of 'steps' are stored for 2 devices"), "\(refused.text)")
            let kept = try await lockstep(["export", "accelerometer", "--out", path], store)
            #expect(kept.status == 1)
            #expect(kept.text == "Error: \(path) exists: use --force to replace it, or another name\n")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
            let replaced = try await lockstep(["export", "accelerometer", "--out", path, "--force"], store)
            #expect(replaced.status == 0, "\(replaced.text)")
            #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("group,"))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o640)
            #expect(try exportedFiles(beside: store) == ["out.csv"])
        }
    }

    @Test(
        "mistakes are refused with a suggestion, and leave no file",
        arguments: [
            (["stesp"], "unknown stream 'stesp': did you mean 'steps'? Known streams: motion/acc"),
            (["session", "walk", "--resample", "10"], "a session has its own devices, times and rates"),
            (["session", "walk", "--time", "device"], "a session has its own devices, times and rates"),
            (["thermometer"], "unknown stream 'thermometer'; known streams: motion/acc"),
            (["track", "--device", "lfet"], "no device 'lfet' in the store: did you mean 'left'? List devices"),
            (["track", "--device", "lab/left"], "no device 'lab/left' in the store"),
            (["track", "--group", "attic"], "no group 'attic' in the store; known groups: default, lab"),
            (
                ["motion", "--format", "parquet"],
                "parquet contains one stream, and motion has several: use --resample, or one"
            ),
            (
                ["motion", "--format", "gpx"],
                "gpx contains positions, and motion has none: use 'lockstep export track'"
            ),
            (["steps", "--format", "geojson"], "or one of csv, ndjson, mcap"),
            (["motion", "--format", "xdf"], "xdf contains a session: use 'lockstep export session NAME'"),
            (["track", "--format", "kml"], "'kml' is not one of csv, ndjson, geojson, gpx, mcap, senml, senml-cbor"),
            (["steps"], "no samples of 'steps' are stored for 2 devices"),
            (["track", "--out", "walk.kml"], "the extension '.kml' of --out is not that of a format: use --format"),
            (["track", "--out", "walk.json"], "the extension '.json' of --out is not that of a format"),
            (
                ["steps_refined", "--format", "mcap"],
                "steps_refined can be exported as csv, ndjson or parquet, not as mcap"
            ),
            (["track", "--device", "lab/right"], "no samples of 'track' are stored for lab/right"),
            (
                ["track", "--from", "2024-01-01"],
                "no samples of 'track' of 2 devices from 2024-01-01T00:00:00.000000Z; "
                    + "stored are those from 2023-11-14T22:13:20.000000Z to 2023-11-14T22:13:20.000000Z"
            ),
            (["track", "--from", "now", "--to", "-5m"], "is after --to"),
            (["track", "--gap", "0s"], "--gap must be greater than 0"),
            (["track", "--gap", "soon"], "'soon' is not a duration"),
            (["track", "--force"], "--force is only for --out"),
            (
                ["accelerometer", "--device", "default/right"],
                "no device 'default/right' in the store: did you mean 'lab/right'?"
            ),
            (["accelerometer,stesp", "--resample", "10"], "unknown stream 'stesp': did you mean 'steps'?"),
            (["accelerometer", "--resample", "0"], "--resample must be from 0.001 to 10000 rows per second"),
            (["accelerometer", "--resample", "1", "--format", "mcap"], "--resample is only for csv and parquet"),
            (["steps", "--resample", "10"], "no samples of 'steps' of 2 devices in this time range"),
            (["track", "--out", "/tmp"], "/tmp is a folder"),
            (["track", "--out", "/dev/null", "--force"], "/dev/null is not a regular file: leave out --out"),
            (
                ["track", "--out", "/nowhere/t.gpx"],
                "cannot write /nowhere/t.gpx: No such file or directory: create its folder first"
            ),
        ])
    func mistakes(arguments: [String], answer: String) async throws {
        try await withStore { store in
            let run = try await lockstep(["export"] + arguments, store)
            #expect(run.status == (answer.hasPrefix("'kml'") ? 64 : 1))
            #expect(run.text.hasPrefix("Error: ") && run.text.contains(answer), "\(run.text)")
            #expect(try exportedFiles(beside: store) == [])
        }
    }

    @Test("a track of fixes without a position is an error, and leaves no file")
    func noPosition() async throws {
        try await withStore { store in
            let folder = URL(fileURLWithPath: store).deletingLastPathComponent().path
            let times = (0..<5000).map { 1_700_000_000_000_000 + Int64($0) }
            let columns = SensorStream.location.columns.map { _ in times.map { _ in Double.nan } }
            let blind = SampleBlock(stream: .location, times: times, columns: columns)
            try write(IngestGroup(batches: [received(blind, "blind", nil)]), to: store)
            for arguments in [["--out", folder + "/t.gpx"], ["--format", "gpx"], ["--format", "geojson"]] {
                let run = try await lockstep(["export", "track", "--device", "blind"] + arguments, store)
                #expect(run.status == 1)
                #expect(run.text == "Error: no sample has a position: the receivers had no fix in this time range\n")
            }
            #expect(try exportedFiles(beside: store) == [])
            let all = try await lockstep(["export", "location", "--device", "blind"], store)
            #expect(all.status == 0 && all.text.split(separator: "\n").count == 5001)
        }
    }

    @Test("an exported stream is analysed without options, and another one than the required is refused")
    func comesBack() async throws {
        try await withStore { store in
            let folder = URL(fileURLWithPath: store).deletingLastPathComponent().path
            for name in [
                "accelerometer.csv", "accelerometer.ndjson", "accelerometer.mcap", "location.csv", "location.gpx",
                "location.mcap",
            ] {
                let file = "\(folder)/\(name)"
                let stream = String(name.prefix { $0 != "." })
                let export = try await lockstep(["export", stream, "--device", "left", "--out", file], store)
                #expect(export.status == 0, "\(export.text)")
                let analysis = try await lockstep(["analyze", "steps", file], store)
                if stream == "location" {
                    #expect(analysis.text.contains("no accelerometer, only location"), "\(analysis.text)")
                } else {
                    #expect(analysis.text.contains("no steps in 2 samples over 0.01 s"), "\(analysis.text)")
                }
            }
            for option in ["--csv", "--json"] {
                let query = try await lockstep(["query", "accelerometer", "--device", "left", option], store)
                try query.text.write(toFile: folder + "/query", atomically: true, encoding: .utf8)
                let analysis = try await lockstep(["analyze", "steps", folder + "/query"], store)
                #expect(analysis.text.contains("no steps in 2 samples over 0.01 s"), "\(analysis.text)")
            }
        }
    }

    @Test("a pipe that is closed early ends the export without an error")
    func brokenPipe() async throws {
        try await withStore { store in
            try await addSamples(20_000, of: "left", to: store)
            let run = try await RunningProgram.run(
                "/bin/bash",
                ["-c", "set -o pipefail; '\(Programs.built("lockstep"))' export accelerometer | head -n 1"],
                environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
            #expect(run.status == 0)
            #expect(run.text == "group,device,stream,t,time,x,y,z\n")
        }
    }

    @Test("a full disk is an error, on standard output and in a file, of which nothing is left")
    func full() async throws {
        try await withStore { store in
            try await addSamples(20_000, of: "left", to: store)
            let program = Programs.built("lockstep")
            let environment = ["LOCKSTEP_STORE": "sqlite:\(store)"]
            let output = try await RunningProgram.run(
                "/bin/bash", ["-c", "'\(program)' export accelerometer > /dev/full"], environment: environment)
            #expect(output.status == 1)
            #expect(output.text == "cannot write to standard output: No space left on device\n")
            // The limit of the process stands for the disk.
            let path = URL(fileURLWithPath: store).deletingLastPathComponent().path + "/out.csv"
            let file = try await RunningProgram.run(
                "/bin/bash", ["-c", "ulimit -f 100; '\(program)' export accelerometer --out \(path)"],
                environment: environment)
            #expect(file.status == 1)
            #expect(file.text == "Error: cannot write \(path): File too large\n")
            #expect(try exportedFiles(beside: store) == [])
        }
    }

    @Test("a progress bar is shown on a terminal, and only there")
    func progress() async throws {
        try await withStore { store in
            try await addSamples(100_000, of: "left", to: store)
            let path = URL(fileURLWithPath: store).deletingLastPathComponent().path + "/out.csv"
            let command = "'\(Programs.built("lockstep"))' export accelerometer --to 2023-01-01 --out '\(path)' --force"
            let environment = ["LOCKSTEP_STORE": "sqlite:\(store)", "TERM": "xterm"]
            let terminal = try await RunningProgram.run(
                "/usr/bin/script", ["-qec", command, "/dev/null"], environment: environment)
            #expect(terminal.text.contains("\r\u{1B}[K[#"), "\(terminal.text.prefix(300))")
            #expect(terminal.text.contains(" %, ") && terminal.text.contains(" samples, "))
            let pipe = try await RunningProgram.run("/bin/bash", ["-c", command], environment: environment)
            #expect(pipe.text.hasPrefix("\(path): 100000 samples of 1 device, "), "\(pipe.text.prefix(300))")
        }
    }

    @Test("binary formats are not written to a terminal")
    func binary() async throws {
        try await withStore { store in
            let run = try await RunningProgram.run(
                "/usr/bin/script",
                ["-qec", "'\(Programs.built("lockstep"))' export track --format mcap", "/dev/null"],
                environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
            #expect(run.status == 1)
            #expect(run.text.contains("mcap is not text: use --out FILE, or redirect standard output"), "\(run.text)")
        }
    }

    @Test("the help lists exports, formats and options")
    func help() async throws {
        let run = try await RunningProgram.run(Programs.built("lockstep"), ["export", "--help"])
        #expect(run.status == 0)
        for part in [
            "track ", "motion ", "csv, ndjson, geojson, gpx, mcap,", "senml-cbor", "--gap", "--out", "--force",
            "EXAMPLES",
        ] {
            #expect(run.text.contains(part), "\(part) is missing: \(run.text)")
        }
    }
}
