import LockstepTestSupport
import Testing

@Suite("lockstep query --last and --every")
struct QueryDetailCommandTests {
    @Test("--last prints the newest sample of each device")
    func last() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "accelerometer", "--last", "--csv"], store)
            #expect(
                run.text == """
                    group,device,stream,t,time,x,y,z
                    default,left,motion/accelerometer,1700000000010000,2023-11-14T22:13:20.010000Z,0.25,0.0,-1.0
                    lab,right,motion/accelerometer,1700000000000000,2023-11-14T22:13:20.000000Z,0.5,0.0,-1.0

                    """)
            let bounded = try await lockstep(
                ["query", "accelerometer", "--last", "--json", "--device", "left", "--to", "1700000000010000"], store)
            #expect(bounded.text.contains(#""t":1700000000000000"#), "\(bounded.text)")
        }
    }

    @Test("--every prints means and the number of samples as CSV")
    func averagesCSV() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "accelerometer", "--every", "1m", "--csv"], store)
            #expect(
                run.text == """
                    group,device,t,time,x,y,z,samples,source
                    default,left,1699999980000000,2023-11-14T22:13:00.000000Z,0.375,0.0,-1.0,2,samples
                    lab,right,1699999980000000,2023-11-14T22:13:00.000000Z,0.5,0.0,-1.0,1,samples

                    """)
        }
    }

    @Test("--every prints an aligned table")
    func averagesTable() async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "accelerometer", "--every", "1d"], store)
            #expect(
                run.text == """
                    device                time                                x (g)         y (g)         z (g)       samples        source
                    default/left          2023-11-14T00:00:00.000000Z         0.375           0.0          -1.0             2       samples
                    lab/right             2023-11-14T00:00:00.000000Z           0.5           0.0          -1.0             1       samples

                    """)
        }
    }

    @Test(
        "invalid options are refused with a suggestion",
        arguments: [
            (["--last", "--every", "1m"], "use either --last or --every, not both"),
            (["--every", "often"], "'often' is not a duration: use 250ms, 30s, 5m, 2h or 7d"),
            (["--every", "999ms"], "--every must be from 1s to 1d, not '999ms'"),
            (["--every", "25h"], "--every must be from 1s to 1d, not '25h'"),
        ])
    func mistakes(arguments: [String], answer: String) async throws {
        try await withStore { store in
            let run = try await lockstep(["query", "steps"] + arguments, store)
            #expect(run.status == 1)
            #expect(run.text == "Error: \(answer)\n")
        }
    }

    @Test("--every tells which rows come from summaries of minutes")
    func sources() async throws {
        try await withSummaries { path in
            let run = try await lockstep(["query", "accelerometer", "--every", "1h", "--csv"], path)
            let rows = run.text.split(separator: "\n").dropFirst().compactMap { $0.split(separator: "Z,").last }
            #expect(
                rows == ["0.5,0.0,-1.0,3600,summaries", "0.5,0.0,-1.0,3600,summaries", "0.5,0.0,-1.0,800,samples"])
            let part = try await lockstep(
                ["query", "accelerometer", "--every", "1h", "--json", "--from", "1699999200000001", "--limit", "1"],
                path)
            #expect(part.text.hasSuffix(#""samples":3599,"source":"both"}"# + "\n"), "\(part.text)")
        }
    }
}
