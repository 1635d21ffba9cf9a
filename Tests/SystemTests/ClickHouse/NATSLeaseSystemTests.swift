import Foundation
import LockstepCollector
import LockstepMQTT
import LockstepTestSupport
import Testing

/// The environment variable `LOCKSTEP_NODE_KILLS` sets how often each node is killed in turn; by default, only the leader
/// is killed, once.
@Suite(
    "Cluster of collectors on a NATS cluster", .serialized,
    .enabled(
        if: Programs.isInstalled("nats-server") && TestClickHouse.isInstalled,
        "nats-server or clickhouse-server is not installed"))
struct NATSLeaseSystemTests {
    private static let devices = ["north/ant", "south/bee", "west/cat", "west/dog"]
    private static let groups = ["--group", "north", "--group", "south", "--group", "west:2"]
    private static let shares = ["north", "south", "west:0-2", "west:1-2"]

    @Test("every sample is stored once and states are published once, though collectors and nodes fail and are stopped")
    func failures() async throws {
        try await withClickHouse { server in
            // The certificate of the example device serves all devices of this test.
            try await withNATSCluster(servesAllDevices: true) { cluster, credentials, folder in
                let system = System(cluster: cluster, credentials: credentials, server: server, folder: folder)
                let data = StoredCluster(server: server, devices: Self.devices)
                let client = TestClient(
                    try BrokerAddress(cluster.urls(from: 2)), filters: ["lockstep/+/+/state"], version: .three,
                    tls: credentials.tls("reader"))
                #expect(await client.waitUntilListening(), "\(cluster.text)")
                var collectors: [String: RunningProgram] = [:]
                for (node, name) in ["a", "b"].enumerated() { collectors[name] = try system.start(name, node: node) }
                try await system.expectOwned(Self.shares, by: ["a", "b"], collectors)
                let agents = try Self.devices.enumerated().map { index, device in
                    try system.agent(device, node: index % 3, source: "simulate:\(index + 1)")
                }
                try await data.expectProgress("start", collectors)

                let leader = try #require(system.leader)
                try await step("killed collector") {
                    await collectors["a"]?.stop(SIGKILL)
                    // From now on, it reaches the leases only over the node that fails next.
                    let next = try system.start("a", node: (leader + 1) % 3, leaseNode: leader)
                    collectors["a"] = next
                    #expect(await next.waitForOutput("share taken over", within: .seconds(90)), "\(next.text)")
                    try await system.expectOwned(Self.shares, by: ["a", "b"], collectors)
                }
                try await step("killed leader of the leases, the only node by which one collector reaches them") {
                    await cluster.nodes[leader].stop(SIGKILL)
                    try await system.expectOwned(Self.shares, by: ["b"], collectors)
                    #expect(collectors["a"]?.text.contains("the lease server cannot be reached") == true)
                    try await data.expectProgress("node killed", collectors)
                    try cluster.restart(leader)
                    try await system.expectCurrent(leader)
                    try await system.expectOwned(Self.shares, by: ["a", "b"], collectors)
                }
                let rounds = ProcessInfo.processInfo.environment["LOCKSTEP_NODE_KILLS"].flatMap { Int($0) } ?? 0
                for node in (0..<rounds).flatMap({ _ in 0..<3 }) {
                    try await step("killed node \(node + 1)") {
                        await cluster.nodes[node].stop(SIGKILL)
                        try await data.expectProgress("node killed", collectors)
                        try cluster.restart(node)
                        try await system.expectCurrent(node)
                        try await system.expectOwned(Self.shares, by: ["a", "b"], collectors)
                    }
                }
                try await step("drained collector") {
                    await collectors["a"]?.stop(SIGTERM)
                    try await system.expectOwned(Self.shares, by: ["b"], collectors)
                }
                for agent in agents { await agent.stop(SIGTERM) }
                try await step("emptied outboxes") { try await system.drain(Self.devices, collectors) }
                for (_, collector) in collectors { await collector.stop(SIGTERM) }
                await client.stop()
                try await data.expectComplete(at: server.url(), outbox: system.outbox, states: client)
                #expect(!cluster.text.contains("Violation"), "\(cluster.text)")
            }
        }
    }

    @Test("wrong uses of --lease-server are refused with advice")
    func wrongUse() async throws {
        let cluster = ["--store", "clickhouse://localhost/x", "--cluster", "one", "--group", "a"]
        for (arguments, text) in [
            (
                ["--broker", "mqtt://a", "--store", "clickhouse://localhost/x", "--lease-server", "nats://a"],
                "add --cluster"
            ),
            (["--broker", "mqtt://a", "--lease-server", "mqtt://a"] + cluster, "use nats://host[:port]"),
            (["--broker", "mqtt://a", "--lease-server", "nats://me:s3cret@a"] + cluster, "are those of the broker"),
            (["--broker", "mqtts://a", "--lease-server", "nats://a"] + cluster, "use tls:// instead of nats://"),
        ] {
            let run = try await RunningProgram.run(Programs.built("lockstep-collector"), arguments)
            #expect(run.status != 0 && run.text.contains(text), "\(run.text)")
            #expect(!run.text.contains("s3cret"))
        }
    }

    private func step(_ name: String, _ body: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        try await body()
        print("\(name): \(ContinuousClock.now - start)")
    }
}

/// The programs of a test.
private struct System {
    let cluster: NATSCluster
    let credentials: Credentials
    let server: TestClickHouse
    let folder: String

    /// - Parameter leaseNode: the only node by which it reaches the leases; nil for all.
    func start(_ id: String, node: Int, leaseNode: Int? = nil) throws -> RunningProgram {
        let leaseServers = leaseNode.map { "tls://localhost:\(cluster.leasePorts[$0])" } ?? cluster.leaseServers
        return try cluster.run(
            "lockstep-collector",
            [
                "--broker", cluster.urls(from: node), "--lease-server", leaseServers, "--store", server.url(),
                "--sync", "normal", "--cluster", "one", "--id", id, "--group", "north", "--group", "south", "--group",
                "west:2",
            ] + credentials.options(credentials.tls("collector")))
    }

    func agent(_ name: String, node: Int, source: String, _ arguments: [String] = []) throws -> RunningProgram {
        let parts = name.split(separator: "/").map(String.init)
        return try cluster.run(
            "lockstep-agent",
            [
                "--broker", cluster.urls(from: node), "--group", parts[0], "--device", parts[1], "--source", source,
                "--outbox", outbox(of: name), "--journal", "--window", "2s",
            ] + arguments + credentials.options(credentials.tls("lab/arm-left")))
    }

    func outbox(of device: String) -> String { "\(folder)/\(device.replacing("/", with: "-")).outbox" }

    /// Runs the agents of devices until their outboxes are empty.
    func drain(_ names: [String], _ collectors: [String: RunningProgram]) async throws {
        let recording = folder + "/one-sample.csv"
        try "t_us,x_g,y_g,z_g\n0,0,0,-1\n".write(toFile: recording, atomically: true, encoding: .utf8)
        let agents = try names.enumerated().map { index, name in
            try agent(name, node: index % 3, source: "replay:\(recording)", ["--backlog-rate", "4M"])
        }
        for (name, agent) in zip(names, agents) {
            let status = await agent.waitForExit(within: .seconds(180))
            let logs = collectors.map { "\($0.key): \($0.value.text.suffix(6000))" }.joined(separator: "\n")
            try #require(status == 0, "\(name): \(agent.text)\n\(logs)\n\(cluster.text.suffix(6000))")
        }
    }

    /// Waits until the leases name these collectors, each of them at least once.
    func expectOwned(
        _ shares: [String], by expected: Set<String>, _ collectors: [String: RunningProgram]
    ) async throws {
        let leases = ClusterLeases(try cluster.leaseOptions(credentials.tls("collector")), shares: shares)
        try await leases.expectOwned(by: expected) {
            collectors.map { "\($0.key): \($0.value.text.suffix(4000))" }.joined(separator: "\n")
        }
    }

    /// The node that leads the stream of the leases.
    var leader: Int? {
        let text = "new stream leader for '$G > KV_lockstep-leases'"
        return cluster.nodes.indices.last { cluster.nodes[$0].text.contains(text) }
    }

    /// Waits until a node that was started again takes part in the cluster.
    func expectCurrent(_ node: Int) async throws {
        await expectEventually("\(cluster.nodes[node].text)", within: .seconds(60)) {
            canConnect(port: cluster.ports[node]) && cluster.nodes[node].text.contains("Server is ready")
        }
    }
}
