import Foundation
import LockstepTestSupport
import Testing

@Suite(
    "Cluster of collectors with a ClickHouse store", .serialized,
    .enabled(
        if: Programs.isInstalled("mosquitto") && Programs.isInstalled("nats-server") && TestClickHouse.isInstalled,
        "mosquitto, nats-server or clickhouse-server is not installed"))
struct ClusterSystemTests {
    private static let devices = ["north/ant", "south/cat", "east/dog", "west/elk", "west/fox", "west/gnu"]
    private static let groups = ["--group", "north", "--group", "south", "--group", "east", "--group", "west:2"]
    private static let shares = ["north", "south", "east", "west:0-2", "west:1-2"]

    @Test("every sample is stored once and states are told once, though collectors are killed, stopped and drained")
    func failures() async throws {
        try await withClickHouse { server in
            try await withSystem { system in
                try await withLeaseServer(in: system.folder) { try await check(server, system, $0) }
            }
        }
    }

    private func check(_ server: TestClickHouse, _ system: TestSystem, _ leaseServer: LeaseServer) async throws {
        let client = try await system.connect(["lockstep/+/+/state"])
        let data = StoredCluster(server: server, devices: Self.devices)
        let leases = try leaseServer.leases(of: Self.shares)
        var collectors: [String: RunningProgram] = [:]
        func start(_ id: String) throws {
            collectors[id] = try system.start(
                "lockstep-collector",
                [
                    "--broker", system.broker.url, "--store", server.url(), "--sync", "normal", "--cluster", "one",
                    "--lease-server", leaseServer.url, "--id", id,
                ] + Self.groups)
        }
        func expectOwned(by expected: Set<String>) async throws {
            try await leases.expectOwned(by: expected, within: .seconds(120)) {
                collectors.map { "\($0.key): \($0.value.text.suffix(4000))" }.joined(separator: "\n")
            }
        }
        for name in ["a", "b"] { try start(name) }
        try await expectOwned(by: ["a", "b"])
        let agents = try Self.devices.enumerated().map { index, device in
            try agent(device, source: "simulate:\(index + 1)", in: system)
        }
        try await data.expectProgress("start", collectors)

        // One is added while data flows.
        try start("c")
        try await expectOwned(by: ["a", "b", "c"])
        try await data.expectProgress("added", collectors)

        // The lease server is restarted: no lease ends.
        let losses = collectors.mapValues { $0.text.split(separator: "share lost").count }
        try await leaseServer.restart()
        try await expectOwned(by: ["a", "b", "c"])
        try await data.expectProgress("lease server restarted", collectors)
        #expect(collectors.mapValues { $0.text.split(separator: "share lost").count } == losses)

        // One is killed and one hangs; both continue after the third has taken over.
        await collectors["a"]?.stop(SIGKILL)
        collectors["b"]?.signal(SIGSTOP)
        let stopped = ContinuousClock.now
        try await expectOwned(by: ["c"])
        print("shares of collectors that do not answer were claimed after \(ContinuousClock.now - stopped)")
        try await data.expectProgress("stopped", collectors)
        try start("a")
        collectors["b"]?.signal(SIGCONT)
        try await expectOwned(by: ["a", "b", "c"])
        try await data.expectProgress("continued", collectors)

        // One is drained.
        await collectors["c"]?.stop(SIGTERM)
        try await expectOwned(by: ["a", "b"])
        try await data.expectProgress("drained", collectors)

        for agent in agents { await agent.stop(SIGTERM) }
        try await drain(Self.devices, in: system)
        for (_, collector) in collectors { await collector.stop(SIGTERM) }
        try await data.expectComplete(at: server.url(), outbox: { outbox(of: $0, in: system) }, states: client)
    }

    @Test("a cluster needs a ClickHouse store, a lease server, and groups that are named once")
    func wrongUse() async throws {
        for (arguments, text) in [
            (["--store", "sqlite:/tmp/x.db", "--group", "a"], "belongs to one collector"),
            (["--store", "clickhouse://localhost/x"], "use --group for each of them"),
            (["--store", "clickhouse://localhost/x", "--group", "a", "--group", "a:2"], "named twice"),
            (["--store", "clickhouse://localhost/x", "--group", "a:0"], "is not a share"),
            (["--store", "clickhouse://localhost/x", "--group", "a"], "'nats-server --jetstream --store_dir DIR'"),
            (
                ["--store", "clickhouse://localhost/x", "--group", "a", "--id", String(repeating: "i", count: 59)],
                "use at most 58 characters"
            ),
        ] {
            let result = try await RunningProgram.run(
                Programs.built("lockstep-collector"), ["--broker", "mqtt://localhost", "--cluster", "one"] + arguments)
            #expect(result.status != 0 && result.text.contains(text), "\(result.text)")
        }
    }

    // MARK: Programs

    private func agent(
        _ name: String, source: String, _ arguments: [String] = [], in system: TestSystem
    ) throws -> RunningProgram {
        let parts = name.split(separator: "/").map(String.init)
        return try system.start(
            "lockstep-agent",
            [
                "--broker", system.broker.url, "--group", parts[0], "--device", parts[1], "--source", source,
                "--outbox", outbox(of: name, in: system), "--journal", "--window", "200ms",
            ] + arguments)
    }

    private func outbox(of name: String, in system: TestSystem) -> String {
        "\(system.folder)/\(name.replacing("/", with: "-")).outbox"
    }

    /// Runs the agents of devices until their outboxes are empty.
    private func drain(_ names: [String], in system: TestSystem) async throws {
        let recording = system.folder + "/one-sample.csv"
        try "t_us,x_g,y_g,z_g\n0,0,0,-1\n".write(toFile: recording, atomically: true, encoding: .utf8)
        let agents = try names.map {
            try agent($0, source: "replay:\(recording)", ["--backlog-rate", "4M"], in: system)
        }
        for (name, agent) in zip(names, agents) {
            let status = await agent.waitForExit(within: .seconds(120))
            try #require(status == 0, "\(name): \(agent.text)")
        }
    }
}
