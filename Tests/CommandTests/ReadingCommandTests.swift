import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep query and devices")
struct ReadingCommandTests {
    @Test("query prints CSV with a header, sorted by device and time")
    func csv() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "accelerometer", "--csv"], store)
            #expect(run.status == 0)
            #expect(
                run.text == """
                    group,device,stream,t,time,x,y,z
                    default,left,motion/accelerometer,1700000000000000,2023-11-14T22:13:20.000000Z,0.5,0.0,-1.0
                    default,left,motion/accelerometer,1700000000010000,2023-11-14T22:13:20.010000Z,0.25,0.0,-1.0
                    lab,right,motion/accelerometer,1700000000000000,2023-11-14T22:13:20.000000Z,0.5,0.0,-1.0

                    """)
        }
    }

    @Test("query can be limited to a device, a group, a time range and a number of rows")
    func bounds() async throws {
        try await withStore { store in
            let cases: [([String], Int)] = [
                (["--device", "left"], 2), (["--group", "lab"], 1), (["--from", "1700000000010000"], 1),
                (["--device", "lab/right"], 1), (["--device", "default/left", "--group", "default"], 2),
                (["--device", "lab/right", "--device", "left"], 3),
                (["--device", "lab/right", "--device", "left", "--limit", "2"], 2),
                (["--to", "2023-11-14T22:13:20.010000Z"], 2), (["--from", "-1h"], 0), (["--limit", "1"], 1),
            ]
            for (arguments, count) in cases {
                let run = try await lockstep(["query", "motion/accelerometer", "--json"] + arguments, store)
                let rows = run.text.split(separator: "\n").filter { $0.hasPrefix("{") }
                #expect(rows.count == count, "\(arguments): \(run.text)")
            }
        }
    }

    @Test("an empty result is explained on standard error")
    func nothing() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "accelerometer", "--csv", "--from", "-1h"], store)
            #expect(
                run.text == """
                    no samples of 'motion/accelerometer' of 2 devices in this time range; stored are those from \
                    2023-11-14T22:13:20.000000Z to 2023-11-14T22:13:20.010000Z
                    group,device,stream,t,time,x,y,z

                    """)
            let converted = try await lockstep(["query", "location", "--time", "collector", "--from", "-1h"], store)
            #expect(converted.text.contains("no samples of 'location' of 2 devices in this time range"))
            let never = try await lockstep(["query", "steps", "--device", "left"], store)
            #expect(never.status == 0 && never.text.contains("no samples of 'steps' are stored for default/left\n"))
            let refined = try await lockstep(["query", "steps_refined", "--device", "left"], store)
            #expect(refined.text.contains("are stored for default/left: run 'lockstep refine steps' first"))
        }
    }

    @Test("devices of several groups are sorted by group, and the limit counts the rows of all groups")
    func groups() async throws {
        try await withStore { store in
            let start: Int64 = 1_700_000_000_000_000
            try write(
                IngestGroup(batches: [received(block([start], x: [0.5]), "left", nil, group: "lab")]), to: store)
            func devices(_ arguments: String...) async throws -> [String] {
                let run = try await lockstep(["query", "accelerometer", "--csv"] + arguments, store)
                return run.text.split(separator: "\n").dropFirst().map {
                    $0.split(separator: ",").prefix(2).joined(separator: "/")
                }
            }
            #expect(try await devices("--device", "left") == ["default/left", "default/left", "lab/left"])
            #expect(try await devices("--device", "lab/left") == ["lab/left"])
            #expect(
                try await devices("--device", "lab/right", "--device", "default/left", "--limit", "3")
                    == ["default/left", "default/left", "lab/right"])
            #expect(
                try await devices("--device", "lab/right", "--device", "left", "--last")
                    == ["default/left", "lab/left", "lab/right"])
        }
    }

    @Test("unknown values are null in JSON and empty in CSV")
    func unknownValues() async throws {
        try await withStore { store in
            let json = try await lockstep(["query", "location", "--json"], store)
            #expect(json.text.contains(#""lat":46.5,"lon":7.5,"alt":null"#), "\(json.text)")
            #expect(json.text.contains(#""fix":3,"at":null}"#), "\(json.text)")
            let csv = try await lockstep(["query", "location", "--csv"], store)
            #expect(csv.text.hasSuffix("46.5,7.5,,,,,,3,\n"), "\(csv.text)")
        }
    }

    @Test(
        "invalid options are refused with a suggestion",
        arguments: [
            (["query", "thermometer"], "unknown stream 'thermometer'; known streams: motion/accelerometer"),
            (["query", "stesp"], "unknown stream 'stesp': did you mean 'steps'? Known streams: motion/accelerometer"),
            (["query", "steps_refined", "--every", "1m"], "are not for 'steps_refined'"),
            (["query", "steps", "--from", "yesterday"], "'yesterday' is not a time: use 2026-"),
            (["query", "steps", "--device", "nobody"], "no device 'nobody' in the store"),
            (
                ["query", "steps", "--device", "lab/left"],
                "no device 'lab/left' in the store: did you mean 'default/left'?"
            ),
            (["verify", "--device", "rihgt"], "no device 'rihgt' in the store: did you mean 'right'?"),
            (["hold", "lfet", "--from", "-1h", "--to", "now", "--reason", "r"], "did you mean 'left'?"),
            (
                ["delete", "--device", "left", "--stream", "stesp", "--all"],
                "unknown stream 'stesp': did you mean 'steps'?"
            ),
            (["archive", "--before", "1d", "--to", "/nowhere", "--stream", "stesp"], "did you mean 'steps'?"),
            (["query", "steps", "--device", "left", "--group", "lab"], "no device 'left' in the store"),
            (["query", "steps", "--device", "lab/right", "--group", "default"], "is not in the group 'default'"),
            (["query", "steps", "--device", "a/b/c"], "'a/b/c' is not a device: use [GROUP/]DEVICE"),
            (["query", "steps", "--device", "a b"], "'a b' is not a device id"),
            (["verify", "--device", "nobody"], "no device 'nobody' in the store"),
            (["query", "steps", "--limit", "-1"], "--limit"),
            (["query", "steps", "--from", "now", "--to", "-5m"], "is after --to"),
            (["query", "steps", "--group", "attic"], "no group 'attic' in the store; known groups: default, lab"),
            (["devices", "--group", "attic"], "no group 'attic' in the store; known groups: default, lab"),
            (["verify", "--journal", "/nowhere.outbox"], "/nowhere.outbox"),
            (["devices", "--store", "/plain/path"], "use sqlite:PATH"),
            (["devices", "--store", "a/samples.db"], "a file needs 'sqlite:' before it: use 'sqlite:a/samples.db'"),
            (["devices", "--store", "sqlite:/nowhere/at.db"], "there is no store at /nowhere/at.db"),
        ])
    func mistakes(arguments: [String], answer: String) async throws {
        try await withStore { store in
            let run = try await lockstep(arguments, store)
            #expect(run.status != 0)
            #expect(run.text.contains(answer), "\(run.text)")
        }
    }

    @Test("with --local, times are printed and read in the zone of TZ, in tables but not in JSON")
    func localTimes() async throws {
        try await withStore { store in
            func run(_ arguments: String...) async throws -> String {
                try await RunningProgram.run(
                    Programs.built("lockstep"), arguments + ["--local"],
                    environment: ["LOCKSTEP_STORE": "sqlite:\(store)", "TZ": "Asia/Kolkata"]
                ).text
            }
            let rows = try await run("query", "accelerometer", "--device", "left", "--to", "2023-11-15 03:43:20.005")
            #expect(
                rows.split(separator: "\n").count == 2 && rows.contains("2023-11-15T03:43:20.000000+05:30"), "\(rows)")
            let devices = try await run("devices")
            #expect(devices.contains("2023-11-15T03:43:20+05:30"), "\(devices)")
            let json = try await run("query", "accelerometer", "--json", "--from", "2023-11-14T22:13:20Z")
            #expect(json.contains(#""time":"2023-11-14T22:13:20.000000Z""#), "\(json)")
        }
    }

    @Test("query prints one JSON object per line")
    func json() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "motion/accelerometer", "--json", "--group", "lab"], store)
            #expect(
                run.text == """
                    {"group":"lab","device":"right","stream":"motion/accelerometer","t":1700000000000000,\
                    "time":"2023-11-14T22:13:20.000000Z","x":0.5,"y":0.0,"z":-1.0}

                    """)
        }
    }

    @Test("query prints an aligned table")
    func table() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "accelerometer"], store)
            #expect(
                run.text == """
                    device                time                                x (g)         y (g)         z (g)
                    default/left          2023-11-14T22:13:20.000000Z           0.5           0.0          -1.0
                    default/left          2023-11-14T22:13:20.010000Z          0.25           0.0          -1.0
                    lab/right             2023-11-14T22:13:20.000000Z           0.5           0.0          -1.0

                    """)
        }
    }

    @Test("a table has times in ISO 8601, and CSV has them in µs")
    func timeColumns() async throws {
        try await withStore { store in
            var walk = SampleBlock(stream: .steps)
            let time = Timestamp(microseconds: 1_700_000_000_000_000)
            walk.append(
                time: time, values: [Double((time - 1_500_000).microseconds), 3, 2.1, .nan, .nan, .nan])
            try write(IngestGroup(batches: [received(walk, "left", nil)]), to: store)
            let table = try await lockstep(["query", "steps"], store)
            #expect(
                table.text.replacing(/[ ]{2,}/, with: "  ") == """
                    device  time  start  steps  distance (m)  pace (s/m)  avg_pace (s/m)  cadence (steps/s)
                    default/left  2023-11-14T22:13:20.000000Z  2023-11-14T22:13:18.500000Z  3  2.1  -  -  -

                    """, "\(table.text)")
            #expect(Set(table.text.split(separator: "\n").map(\.count)).count == 1, "\(table.text)")
            let csv = try await lockstep(["query", "steps", "--csv"], store)
            #expect(
                csv.text == """
                    group,device,stream,t,time,start,steps,distance,pace,avg_pace,cadence
                    default,left,steps,1700000000000000,2023-11-14T22:13:20.000000Z,1699999998500000,3,2.1,,,

                    """)
        }
    }

    @Test("every built-in stream can be queried by its name and by its table")
    func allStreams() async throws {
        try await withTemporaryFolder { folder in
            let store = folder + "/store.db"
            let batches = SensorStream.builtIn.map { stream in
                var samples = SampleBlock(stream: stream)
                samples.append(
                    time: Timestamp(microseconds: 1_700_000_000_000_000), values: stream.columns.map { _ in 1 })
                return received(samples, "left", nil)
            }
            try write(IngestGroup(batches: batches), to: store)
            for stream in SensorStream.builtIn {
                let header = (["group", "device", "stream", "t", "time"] + stream.columns.map(\.name)).joined(
                    separator: ",")
                for name in [stream.name, stream.table] {
                    let run = try await lockstep(["query", name, "--csv"], store)
                    #expect(run.text.hasPrefix("\(header)\ndefault,left,\(stream),1700000000000000,"), "\(run.text)")
                }
            }
        }
    }

    @Test("a closed pipe ends query without an error")
    func closedPipe() async throws {
        try await withStore { store in
            let run = try await RunningProgram.run(
                "/bin/bash",
                [
                    // head ends after the first query.
                    "-c", "for i in {1..5}; do \"$0\" query accelerometer --csv; done | head -n 1",
                    Programs.built("lockstep"),
                ],
                environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
            #expect(run.text == "group,device,stream,t,time,x,y,z\n")
        }
    }

    @Test(
        "a write error on standard output is reported",
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func fullOutput() async throws {
        try await withStore { store in
            let run = try await RunningProgram.run(
                "/bin/sh", ["-c", "exec \"$0\" query accelerometer > /dev/full", Programs.built("lockstep")],
                environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
            #expect(run.status == 1)
            #expect(run.text == "cannot write to standard output: No space left on device\n")
        }
    }

    @Test("devices prints an aligned table")
    func devices() async throws {
        try await withStore { store in
            let run = try await lockstep(["devices"], store)
            #expect(run.status == 0)
            // The ages, and with them the widths of the columns, depend on the day of the test.
            #expect(
                run.text.replacing(/[0-9]+d/, with: "Nd").replacing(/[ ]{2,}/, with: "  ") == """
                    DEVICE  STATE  SINCE  AGE  LAST SAMPLE  SAMPLES  DUPLICATES  CONFLICTS  ON ITS WAY  MISSING  DROPPED
                    default/left  active  2023-11-14T22:13:20Z  Nd  Nd ago  3  2  0  0  1  0
                    lab/right  -  -  -  Nd ago  1  0  0  0  0  0

                    """)
            #expect(Set(run.text.split(separator: "\n").map(\.count)).count == 1, "\(run.text)")
        }
    }

    @Test("devices prints JSON")
    func devicesJSON() async throws {
        try await withStore { store in
            let run = try await lockstep(["devices", "--json", "--group", "default"], store)
            #expect(
                run.text == """
                    [{"group":"default","device":"left","state":"active","since":1700000000000000,\
                    "since_time":"2023-11-14T22:13:20.000000Z","first_seen":1700000001000000,\
                    "first_seen_time":"2023-11-14T22:13:21.000000Z","last_seen":1700000001000000,\
                    "last_seen_time":"2023-11-14T22:13:21.000000Z","last_sample":1700000000010000,\
                    "last_sample_time":"2023-11-14T22:13:20.010000Z","samples":3,"duplicates":2,"conflicts":0,\
                    "on_its_way":0,"missing":1,"dropped":0}]

                    """)
        }
    }

    @Test("--version prints the version, and a usage error has exit status 64")
    func usage() async throws {
        let version = try await RunningProgram.run(Programs.built("lockstep"), ["--version"])
        #expect(version.text == "lockstep 0.1.0\n")
        #expect(try await RunningProgram.run(Programs.built("lockstep"), ["devices", "--colour"]).status == 64)
        #expect(try await RunningProgram.run(Programs.built("lockstep"), ["query"]).status == 64)
    }
}
