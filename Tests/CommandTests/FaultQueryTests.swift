import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep query rejected and conflicts")
struct FaultQueryTests {
    static let start: Int64 = 1_700_000_000_000_000

    /// Samples of two devices, one of them with a conflict, and rejected messages.
    static func faults() -> [IngestGroup] {
        let rejected = [
            ("lockstep/lab/right/accelerometer", "not a \"channel\"", Array("{\"v\":1}".utf8)),
            ("lockstep/default/left/steps", "not CBOR", [0xA1, 0xFF]),
        ].enumerated().map { index, message in
            RejectedMessage(
                at: Timestamp(microseconds: start + Int64(index)), topic: message.0, reason: message.1, size: 300,
                head: message.2)
        }
        return [
            IngestGroup(
                batches: [
                    received(block([start, start + 10_000], x: [0.5, 0.25]), "left", nil),
                    received(block([start], x: [0.5]), "right", nil, group: "lab"),
                ]),
            IngestGroup(batches: [received(block([start + 10_000], x: [0.75]), "left", nil)], rejected: rejected),
        ]
    }

    private func withFaults(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            for group in Self.faults() { try write(group, to: path) }
            try await body(path)
        }
    }

    @Test("rejected messages are printed with their reason, also as CSV and JSON")
    func rejected() async throws {
        try await withFaults { store in
            let text = try await lockstep(["query", "rejected"], store)
            #expect(text.text.hasPrefix("TIME "), "\(text.text)")
            #expect(text.text.contains("lockstep/lab/right/accelerometer  not a \"channel\""), "\(text.text)")
            let csv = try await lockstep(["query", "rejected", "--csv"], store)
            #expect(
                csv.text == """
                    t,time,topic,reason,size,head
                    1700000000000000,2023-11-14T22:13:20.000000Z,lockstep/lab/right/accelerometer,\
                    "not a ""channel""\",300,"{""v"":1}"
                    1700000000000001,2023-11-14T22:13:20.000001Z,lockstep/default/left/steps,not CBOR,300,a1ff

                    """)
            let json = try await lockstep(["query", "rejected", "--json", "--device", "lab/right"], store)
            #expect(
                json.text
                    == #"{"t":1700000000000000,"time":"2023-11-14T22:13:20.000000Z","#
                    + #""topic":"lockstep/lab/right/accelerometer","reason":"not a \"channel\"","size":300,"#
                    + #""head":"{\"v\":1}"}"# + "\n")
        }
    }

    @Test(
        "text from the network is exact in a pipe, and escaped on a terminal", arguments: ["--csv", "--json", "--text"])
    func terminal(_ format: String) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let message = RejectedMessage(
                at: Timestamp(microseconds: Self.start), topic: "lockstep/a\u{202E}b", reason: "none", size: 1, head: []
            )
            try write(IngestGroup(batches: [], rejected: [message]), to: path)
            let piped = try await lockstep(["query", "rejected", format], path).text
            #expect(piped.contains("a\u{202E}b") == (format != "--text"), "\(piped)")
            let shown = try await RunningProgram.run(
                "/usr/bin/script",
                ["-qec", "\(Programs.built("lockstep")) query rejected \(format) --store sqlite:\(path)", "/dev/null"])
            #expect(shown.text.contains(format == "--text" ? "a\u{FFFD}b" : #"a\u202eb"#), "\(shown.text)")
            #expect(!shown.text.contains("\u{202E}"))
        }
    }

    @Test("rejected messages can be limited to a device, a group, a time range and a number")
    func rejectedSelection() async throws {
        try await withFaults { store in
            let cases: [([String], Int)] = [
                ([], 2), (["--device", "left"], 1), (["--device", "lab/left"], 0), (["--group", "lab"], 1),
                (["--group", "lab", "--device", "right"], 1), (["--from", "1700000000000001"], 1),
                (["--limit", "1"], 1),
                (["--to", "1700000000000001"], 1),
            ]
            for (arguments, count) in cases {
                let run = try await lockstep(["query", "rejected", "--json"] + arguments, store)
                #expect(run.status == 0 && run.text.split(separator: "\n").count == count, "\(arguments): \(run.text)")
            }
        }
    }

    @Test("conflicts are printed with the stored and the later values")
    func conflicts() async throws {
        try await withFaults { store in
            let run = try await lockstep(["query", "conflicts", "--csv"], store)
            #expect(
                run.text == """
                    group,device,t,time,stream,stored,received,received_at
                    default,left,1700000000010000,2023-11-14T22:13:20.010000Z,motion/accelerometer,\
                    "{""x"":0.25,""y"":0.0,""z"":-1.0}","{""x"":0.75,""y"":0.0,""z"":-1.0}",1700000001000000

                    """)
            let text = try await lockstep(["query", "conflicts"], store)
            #expect(text.text.contains("default/left  2023-11-14T22:13:20.010000Z"), "\(text.text)")
            let other = try await lockstep(["query", "conflicts", "--device", "right"], store)
            #expect(other.text == "no conflicts\n")
            let later = try await lockstep(["query", "conflicts", "--json", "--from", "1700000000010001"], store)
            #expect(later.text.isEmpty)
        }
    }

    @Test("options of streams are refused", arguments: ["rejected", "conflicts", "events"])
    func options(name: String) async throws {
        try await withFaults { store in
            for option in [["--last"], ["--every", "1m"], ["--time", "collector"]] {
                let run = try await lockstep(["query", name] + option, store)
                #expect(run.status == 1 && run.text.contains("are only for streams, not for '\(name)'"), "\(run.text)")
            }
        }
    }
}
