import Foundation
import LockstepTestSupport
import Testing

/// The program behind `deploy/cluster`.
@Suite(
    "A cluster on one machine",
    .enabled(
        if: Programs.isInstalled("mosquitto") && Programs.isInstalled("nats-server") && TestReplicas.areInstalled,
        "mosquitto, nats-server, clickhouse-server or zookeeper is not installed"))
struct ClusterRunTests {
    private func folders(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder)
    }

    @Test("a cluster of which a program is killed verifies its samples, and leaves no folder")
    func kills() async throws {
        try await withTemporaryFolder { folder in
            let run = try await RunningProgram.run(
                Programs.built("lockstep-cluster"),
                ["--checkout", Programs.source(""), "--devices", "8", "--kills", "1", "--seed", "3"],
                environment: ["TMPDIR": folder], within: .seconds(300))
            #expect(run.status == 0 && run.text.contains(": killed, 0 kills left"), "\(run.text)")
            #expect(run.text.contains("stored exactly once, on 2 replica(s)"), "\(run.text)")
            #expect(try folders(in: folder) == [])
        }
    }

    @Test(
        "an interrupt at the start, here with the current ClickHouse, ends all programs and removes the folder",
        .enabled(if: Programs.referencePython != nil, "Python with the reference packages is missing: run deploy/check")
    )
    func interrupt() async throws {
        try await withTemporaryFolder { folder in
            let program = try RunningProgram(
                Programs.built("lockstep-cluster"),
                [
                    "--checkout", Programs.source(""), "--devices", "4", "--engine", "26", "--python",
                    Programs.referencePython ?? "",
                ], environment: ["TMPDIR": folder])
            #expect(await program.waitForOutput("servers started: ", within: .seconds(120)), "\(program.text)")
            program.signal(2)
            #expect(await program.waitForExit() == 1, "\(program.text)")
            #expect(program.text.contains("interrupted"))
            #expect(try folders(in: folder) == [])
        }
    }
}
