import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep analyze walk")
struct AnalyzeWalkTests {
    private static let start: Int64 = 1_700_000_000_000_000

    /// Returns 5 s of rest, 60 strides of 1.2 s at 50 Hz whose first step takes 0.56 s, and 5 s of rest.
    private var walk: SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<4100 {
            let stride = (index - 250) % 60
            let moves = (250..<3850).contains(index)
            let phase = stride < 28 ? Double(stride) / 28 : Double(stride - 28) / 32
            block.append(
                time: Timestamp(microseconds: Self.start + Int64(index) * 20_000),
                values: [0, 0, moves ? -1 - 0.3 * cos(2 * .pi * phase) : -1.3])
        }
        return block
    }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test("the gait of a stored walk is printed, as text and as JSON")
    func stored() async throws {
        try await withTemporaryFolder { folder in
            let store = folder + "/store.db"
            try write(IngestGroup(batches: [received(walk, "left", nil)]), to: store)
            let command = ["analyze", "walk", "--device", "left"]
            let run = try await lockstep(command, store)
            #expect(run.status == 0, "\(run.text)")
            for text in [
                " steps in 1 walk, ", "cadence      1.6", "stride time  1.", " s on average of 11", "symmetry     0.8",
            ] {
                #expect(run.text.contains(text), "\(run.text)")
            }
            #expect(!run.text.contains("speed"))
            let found = try object(try await lockstep(command + ["--json", "--step-length", "0.75"], store).text)
            #expect(abs((found["steps"] as? Double ?? 0) - 120) <= 1)
            #expect(abs((found["cadence"] as? Double ?? 0) - 1 / 0.6) < 0.01)
            #expect(abs((found["stride_time"] as? Double ?? 0) - 1.2) < 0.002)
            #expect((found["stride_variation"] as? Double ?? 1) < 0.01)
            #expect(abs((found["symmetry"] as? Double ?? 0) - 0.56 / 0.64) < 0.05)
            #expect(abs((found["speed"] as? Double ?? 0) - 1.25) < 0.01)
            let part = try object(
                try await lockstep(command + ["--json", "--to", "\(Self.start + 41_000_000)"], store).text)
            #expect(abs((part["steps"] as? Double ?? 0) - 60) <= 1)
            let rest = try await lockstep(command + ["--to", "\(Self.start + 4_000_000)"], store)
            #expect(rest.text == "no walk of several strides; 0 steps\n")
        }
    }

    @Test("the cadence of recorded walks is that of the counted steps", .enabled(if: recordingsFolder != nil))
    func recordings() async throws {
        let folder = try #require(recordingsFolder)
        let file = folder + "/walks/Samsung_Dario_Hard_InHand_1.csv"
        let run = try await RunningProgram.run(Programs.built("lockstep"), ["analyze", "walk", file, "--json"])
        let found = try object(run.text)
        #expect(abs((found["steps"] as? Double ?? 0) - 277) <= 3, "\(run.text)")
        #expect((0.9...1.2).contains(found["stride_time"] as? Double ?? 0), "\(run.text)")
    }

    @Test("mistakes are reported")
    func mistakes() async throws {
        try await withTemporaryFolder { folder in
            let store = folder + "/store.db"
            try write(IngestGroup(batches: [received(walk, "left", nil)]), to: store)
            let cases: [([String], String)] = [
                ([], "use either a recording or --device"),
                (["walk.csv", "--device", "left"], "use either a recording or --device"),
                (["walk.csv", "--from", "-5m"], "--from and --to are only for --device"),
                (["--device", "right"], "no device 'right' in the store"),
                (["--device", "left", "--to", "5"], "in this time range; stored are those from"),
                (["/nowhere.csv"], "/nowhere.csv"),
            ]
            for (arguments, text) in cases {
                let run = try await lockstep(["analyze", "walk"] + arguments, store)
                #expect(run.status != 0 && run.text.contains(text), "\(arguments): \(run.text)")
            }
        }
    }
}
