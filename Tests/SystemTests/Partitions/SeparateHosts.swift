import Foundation
import LockstepTestSupport
import Testing

@testable import lockstep_cluster

/// A cluster whose programs run on hosts of their own: three nodes of NATS, two replicas of ClickHouse with a keeper, three
/// collectors, and the agents.
///
/// Collectors reach the lease servers on `TestNetwork.Segment.other`, and everything else on `main`.
struct SeparateHosts {
    static let nodes = ["nats-1", "nats-2", "nats-3"]
    static let replicas = ["replica-0", "replica-1"]
    static let collectors = ["a", "b", "c"]
    static let shares = ["north", "south", "west:0-2", "west:1-2"]
    /// The devices, and the host of each.
    static let devices = ["north/ant": "near", "south/bee": "near", "west/cat": "near", "west/dog": "far"]
    /// A host without any program of the cluster.
    static let observer = "observer"
    static let all = nodes + replicas + ["keeper"] + collectors + ["near", "far", observer]

    private let network: TestNetwork
    private let credentials: Credentials
    private let folder: String
    /// The programs that run all the time, by their names.
    private var programs: [String: RunningProgram] = [:]
    /// The configuration of each node of NATS.
    private var nodeFiles: [String: String] = [:]
    private var agents: [RunningProgram] = []
    /// The reader of the states at each node of NATS.
    private var readers: [String: RunningProgram] = [:]
    /// The readers at nodes that were stopped.
    private var earlierReaders: [RunningProgram] = []

    /// Starts everything except for the agents.
    init(_ network: TestNetwork, in folder: String) async throws {
        self.network = network
        self.folder = folder
        let names = Self.nodes + Self.nodes.map { "other-\($0)" }
        credentials = try await Credentials.make(in: folder + "/secure", names.flatMap { ["--host", $0] })
        try await credentials.add("arm-left")
        try startServers()
        for host in Self.nodes {
            try await network.waitForListener(host, port: 8883, from: Self.observer)
            try await network.waitForListener(host, port: 4222, from: Self.observer)
        }
        let programs = programs
        await expectEventually("no leader", within: .seconds(60)) {
            Self.nodes.contains { programs[$0]?.text.contains(NATSNode.leaderLine) == true }
        }
        let servers = self
        await expectEventually("the replicas reach no keeper", within: .seconds(90)) {
            for host in Self.replicas {
                let rows = try? await servers.query(
                    "SELECT count() > 0 FROM system.zookeeper WHERE path = '/'", at: host, in: "default")
                if rows != ["1"] { return false }
            }
            return true
        }
        for (index, name) in Self.collectors.enumerated() { self.programs[name] = try startCollector(name, index) }
        for node in Self.nodes { readers[node] = try startReader(at: node) }
    }

    private mutating func startServers() throws {
        let files = try NATSNode.writeConfiguration(
            of: Self.nodes.map { NATSNode(host: $0, listensOn: "0.0.0.0") }, in: folder,
            shipped: Programs.source("broker-config/nats"), certificates: credentials.folder, servesAllDevices: true)
        nodeFiles = Dictionary(uniqueKeysWithValues: zip(Self.nodes, files))
        for node in Self.nodes { try startNode(node) }
        programs["keeper"] = try startKeeper()
        for host in Self.replicas { programs[host] = try startReplica(host) }
    }

    private mutating func startNode(_ node: String) throws {
        programs[node] = try network.start(
            Programs.installed("nats-server") ?? "", ["-c", nodeFiles[node] ?? ""], on: node)
    }

    /// The folder in which a node of NATS keeps messages.
    static func messageFolder(of node: String, in folder: String) -> String {
        "\(folder)/\(node.replacing("nats", with: "node"))/messages"
    }

    /// What a program has logged since it was started.
    func log(of host: String) -> String { programs[host]?.text ?? "" }

    /// Stops a node of NATS and its reader.
    mutating func stop(_ node: String) async {
        if let reader = readers.removeValue(forKey: node) {
            await reader.stop(SIGTERM)
            earlierReaders.append(reader)
        }
        await programs[node]?.stop(SIGTERM)
    }

    /// Starts a node of NATS that was stopped, and a reader.
    mutating func start(_ node: String) async throws {
        try startNode(node)
        try await network.waitForListener(node, port: 8883, from: Self.observer)
        readers[node] = try startReader(at: node)
    }

    private func startKeeper() throws -> RunningProgram {
        let settings = KeeperSettings(folder: folder + "/keeper", port: 2181, isLocal: false)
        return try network.start(Programs.installed("java") ?? "", try settings.write(), on: "keeper")
    }

    private func startReplica(_ host: String) throws -> RunningProgram {
        let home = "\(folder)/\(host)"
        let replica = ReplicaSettings(
            name: host, host: host, port: 9009, keepers: [KeeperAddress(host: "keeper", port: 2181)],
            sessionTimeout: 4000)
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        try TestClickHouse.writeConfiguration(
            to: home + "/config.xml", in: home, listensOn: "0.0.0.0", port: 8123, nativePort: 9000,
            settings: replica.elements)
        return try network.start(
            Programs.installed("clickhouse-server") ?? "", ["--config-file=\(home)/config.xml"], on: host)
    }

    /// The addresses of the nodes for agents and collectors, beginning with one of them.
    private func brokers(from first: Int) -> String {
        Self.nodes.indices.map { "mqtts://\(Self.nodes[(first + $0) % Self.nodes.count]):8883" }
            .joined(separator: ",")
    }

    private let store = "clickhouse://replica-0:8123,replica-1:8123/lockstep"

    private func startCollector(_ name: String, _ index: Int) throws -> RunningProgram {
        try network.start(
            Programs.built("lockstep-collector"),
            [
                "--broker", brokers(from: index), "--lease-server",
                Self.nodes.map { "tls://other-\($0):4222" }.joined(separator: ","), "--store", store, "--sync",
                "normal", "--quorum", "majority", "--cluster", "one", "--id", name, "--group", "north", "--group",
                "south", "--group", "west:2",
            ] + credentials.options(credentials.tls("collector")), on: name)
    }

    /// Starts a client that prints the published states.
    private func startReader(at node: String) throws -> RunningProgram {
        try network.start(
            Programs.installed("mosquitto_sub") ?? "",
            [
                "-h", node, "-p", "8883", "-V", "mqttv311", "-q", "1", "-t", "lockstep/+/+/state", "-F", "%t %p",
                "--cafile", credentials.authority, "--cert", credentials.path("reader") + ".pem", "--key",
                credentials.path("reader") + ".key",
            ], on: Self.observer)
    }

    // MARK: Devices

    mutating func startAgents() throws {
        for (index, device) in Self.devices.keys.sorted().enumerated() {
            agents.append(try agent(device, index, "simulate:\(index + 1)", ["--window", "1s"]))
        }
    }

    private func agent(_ name: String, _ node: Int, _ source: String, _ arguments: [String]) throws -> RunningProgram {
        let parts = name.split(separator: "/").map(String.init)
        return try network.start(
            Programs.built("lockstep-agent"),
            [
                "--broker", brokers(from: node), "--group", parts[0], "--device", parts[1], "--source", source,
                "--outbox", outbox(of: name), "--journal",
            ] + arguments + credentials.options(credentials.tls("lab/arm-left")), on: Self.devices[name] ?? "near")
    }

    private func outbox(of device: String) -> String { "\(folder)/\(device.replacing("/", with: "-")).outbox" }

    /// Stops the agents, and runs them until their outboxes are empty. Then stops the collectors and readers.
    func drain() async throws {
        for agent in agents { await agent.stop(SIGTERM) }
        let recording = folder + "/one-sample.csv"
        try "t_us,x_g,y_g,z_g\n0,0,0,-1\n".write(toFile: recording, atomically: true, encoding: .utf8)
        let last = try Self.devices.keys.enumerated().map { index, name in
            try agent(name, index, "replay:\(recording)", ["--backlog-rate", "4M"])
        }
        for agent in last {
            let status = await agent.waitForExit(within: .seconds(180))
            try #require(status == 0, "\(agent.text)\n\(log)")
        }
        try await expectLastStatesRead()
        for name in Self.collectors { await programs[name]?.stop(SIGTERM) }
        for reader in readers.values {
            try #require(reader.isRunning, "a reader of the states has ended: \(reader.text.suffix(1000))")
            await reader.stop(SIGTERM)
        }
    }

    // MARK: Expectations

    /// What the collectors have stored and published.
    var data: StoredCluster {
        StoredCluster(devices: Self.devices.keys.sorted()) { try await query($0) }
    }

    /// Executes a SELECT statement on the first replica that answers.
    func query(_ statement: String) async throws -> [String] {
        var last: (any Error)?
        for host in Self.replicas {
            do { return try await query(statement, at: host) } catch { last = error }
        }
        throw last ?? ProgramError("no replica")
    }

    func query(
        _ statement: String, at replica: String, in database: String = "lockstep"
    ) async throws -> [String] {
        let run = try await network.run(
            Programs.installed("curl") ?? "",
            [
                "--silent", "--show-error", "--fail", "--max-time", "10", "--data-binary", statement,
                "http://\(replica):8123/?database=\(database)",
            ], on: Self.observer)
        guard run.status == 0 else { throw ProgramError("\(statement): \(run.text)") }
        return run.text.split(separator: "\n").map(String.init)
    }

    /// The collectors by their names, for messages about failures.
    var running: [String: RunningProgram] { programs.filter { Self.collectors.contains($0.key) } }

    private var log: String {
        running.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.text.suffix(5000))" }.joined(separator: "\n")
    }

    /// The shares that a collector has taken over and not lost, as it has logged.
    func owned(by collector: String) -> Set<String> {
        var owners = ShareOwners()
        for line in programs[collector]?.text.split(separator: "\n") ?? [] { owners.read(line, of: collector) }
        return owners.shares(of: collector)
    }

    /// Waits until exactly these collectors have shares, and together all of them.
    func expectOwned(by expected: Set<String>, within limit: Duration = .seconds(90)) async throws {
        let isReached = await eventually(within: limit) {
            let found = Self.collectors.map { (name: $0, shares: owned(by: $0)) }
            return found.allSatisfy { $0.shares.isEmpty != expected.contains($0.name) }
                && found.flatMap(\.shares).sorted() == Self.shares
        }
        let found = Self.collectors.map { "\($0): \(owned(by: $0).sorted())" }
        try #require(isReached, "expected \(expected.sorted()), found \(found)\n\(log)")
    }

    /// Waits until all shares are owned by any of these collectors, whatever others believe to own.
    func expectTakenOver(by expected: Set<String>, within limit: Duration = .seconds(60)) async throws {
        let isReached = await eventually(within: limit) {
            expected.reduce(into: Set<String>()) { $0.formUnion(owned(by: $1)) } == Set(Self.shares)
        }
        try #require(isReached, "\(log)")
    }

    /// Waits until both replicas have received everything.
    func expectReplicated() async throws {
        let statement = "SELECT count() FROM system.replicas WHERE queue_size > 0 OR is_readonly"
        try await expectEventually(within: .seconds(90)) {
            for host in Self.replicas where try await query(statement, at: host) != ["0"] { return false }
            return true
        }
    }

    /// Expects that the store has every accepted sample once, and each state in the version that was published.
    func expectComplete() async throws {
        let verification = try await network.run(
            Programs.built("lockstep"),
            ["verify", "--store", store]
                + Self.devices.keys.flatMap { ["--journal", "\($0)=\(outbox(of: $0))"] }, on: Self.observer,
            within: .seconds(300))
        print(verification.text.split(separator: "\n").last.map(String.init) ?? "")
        try await data.expectComplete(verification, states: states)
    }

    /// The published states, as the readers have received them.
    private var states: [(topic: String, payload: [UInt8])] {
        (earlierReaders + readers.values).flatMap { reader in
            reader.text.split(separator: "\n").compactMap { line in
                line.firstIndex(of: " ").map { (String(line[..<$0]), Array(line[line.index(after: $0)...].utf8)) }
            }
        }
    }

    /// Waits until a reader has received the last stored state of each device.
    private func expectLastStatesRead() async throws {
        struct State: Decodable { let seq: Int }
        var missing: [String] = []
        let isReached = await eventually(within: .seconds(60)) {
            guard let last = try? await lastStates(), last.count == Self.devices.count else { return false }
            let read = Set(
                states.compactMap { topic, payload in
                    (try? JSONDecoder().decode(State.self, from: Data(payload))).map { "\(topic) \($0.seq)" }
                })
            missing = last.filter { !read.contains($0) }
            return missing.isEmpty
        }
        try #require(isReached, "no reader has received \(missing)\n\(log)")
    }

    /// Returns the topic and the sequence number of the last stored state of each device.
    private func lastStates() async throws -> [String] {
        try await query(
            """
            SELECT concat('lockstep/', group_name, '/', device, '/state ', toString(last))
            FROM (SELECT device_id, max(seq) AS last FROM states GROUP BY device_id) AS states
            ANY LEFT JOIN (SELECT device_id, group_name, device FROM devices) AS named USING device_id
            """)
    }
}
