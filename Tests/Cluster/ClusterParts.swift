import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSystem

/// The programs of a cluster: what to start with which arguments and settings.
struct ClusterParts {
    /// The groups of the devices. The last one is divided into two shares.
    static let groups = ["north", "south", "east", "west"]
    static let shares = ["east", "north", "south", "west:0-2", "west:1-2"]
    static let collectorNames = ["one", "two", "three"]

    /// Brokers, lease server, keepers and databases, in the order in which they start.
    private(set) var servers: [SystemPart] = []
    private(set) var brokerNames: [String] = []
    private(set) var replicaPorts: [UInt16] = []
    /// Whether the database is replicated, which needs keepers.
    let isReplicated: Bool
    let isNATS: Bool
    /// The address of the page.
    let listen: String
    /// The addresses of the brokers, the lease servers and the store.
    private(set) var broker = ""
    private var leaseServers = ""
    var store: String {
        "clickhouse://\(replicaPorts.map { "127.0.0.1:\($0)" }.joined(separator: ","))/lockstep"
    }

    private let folder: String
    private let checkout: String

    /// Chooses ports and writes the settings of all servers.
    init(_ command: ClusterCommand, in folder: String) throws {
        self.folder = folder
        checkout = command.checkout
        isReplicated = command.engine == .server
        isNATS = command.brokers == .nats
        listen = "127.0.0.1:\(try freePort())"
        if isNATS { try addNodes() } else { try addBroker() }
        if let python = command.python, !isReplicated {
            try addEngine(python)
        } else {
            try addReplicas()
        }
    }

    // MARK: - Servers

    private mutating func addServer(_ name: String, _ program: String, _ arguments: [String], port: UInt16) throws {
        guard let path = ProgramLocation.system(program) else { throw ProgramError("\(program) is not installed") }
        servers.append(
            SystemPart(name, program: path, arguments, stage: .broker, readyPort: port, patience: .seconds(20)))
    }

    private mutating func addBroker() throws {
        let port = try freePort()
        let home = try subfolder("broker")
        let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "root"
        let shipped = try String(contentsOfFile: checkout + "/broker-config/development.conf", encoding: .utf8)
        try BrokerSettings(port: port, folder: home + "/", user: user).text(from: shipped)
            .write(toFile: home + "/mosquitto.conf", atomically: true, encoding: .utf8)
        try addServer("broker", "mosquitto", ["-c", home + "/mosquitto.conf"], port: port)
        brokerNames = ["broker"]
        broker = "mqtt://127.0.0.1:\(port)"
        let leasePort = try freePort()
        try addServer(
            "leases", "nats-server",
            ["--addr", "127.0.0.1", "--port", "\(leasePort)", "--jetstream", "--store_dir", folder + "/leases"],
            port: leasePort)
        leaseServers = "nats://127.0.0.1:\(leasePort)"
    }

    private mutating func addNodes() throws {
        for arguments in [
            ["broker", "--certs", folder + "/secure", "--host", "localhost"],
            ["device", "arm-left", "--certs", folder + "/secure", "--group", "lab"],
        ] {
            guard let lockstep = ProgramLocation.lockstep("lockstep") else { throw ProgramError("lockstep is missing") }
            let program = try RunningProgram(lockstep, ["certs"] + arguments)
            guard program.waitForEnd(within: .seconds(60)) == 0 else {
                throw ProgramError("lockstep certs \(arguments[0]) failed: \(program.text)")
            }
        }
        let nodes = try NATSNode.onLoopback()
        let files = try NATSNode.writeConfiguration(
            of: nodes, in: folder, shipped: checkout + "/broker-config/nats", certificates: folder + "/secure",
            servesAllDevices: true)
        for (index, node) in nodes.enumerated() {
            try addServer("nats-\(index)", "nats-server", ["-c", files[index]], port: node.port)
            brokerNames.append("nats-\(index)")
        }
        broker = nodes.map { "mqtts://localhost:\($0.port)" }.joined(separator: ",")
        leaseServers = nodes.map { "tls://localhost:\($0.leasePort)" }.joined(separator: ",")
    }

    private mutating func addReplicas() throws {
        let peers = try (0..<3).map { _ in try KeeperSettings.Peer() }
        var keepers: [KeeperAddress] = []
        for number in peers.indices {
            let settings = KeeperSettings(
                folder: "\(folder)/keeper-\(number)", port: try freePort(), number: number, peers: peers)
            try addServer("keeper-\(number)", "java", try settings.write(), port: settings.port)
            keepers.append(KeeperAddress(port: settings.port))
        }
        for number in 0..<2 {
            let replica = ReplicaSettings(
                name: "\(number)", port: try freePort(), keepers: keepers, sessionTimeout: 6000)
            let home = try subfolder("clickhouse-\(number)")
            let settings = ClickHouseSettings(
                folder: home, port: try freePort(), nativePort: try freePort(), more: replica.elements)
            try settings.text.write(toFile: home + "/config.xml", atomically: true, encoding: .utf8)
            try settings.users.write(toFile: settings.usersFile, atomically: true, encoding: .utf8)
            try addServer(
                "replica-\(number)", "clickhouse-server", ["--config-file=\(home)/config.xml"], port: settings.port)
            replicaPorts.append(settings.port)
        }
    }

    /// Adds the current engine in a process of Python, which has no replication.
    private mutating func addEngine(_ python: String) throws {
        let port = try freePort()
        let script = checkout + "/Tests/LockstepTestSupport/clickhouse_engine.py"
        servers.append(
            SystemPart(
                "replica-0", program: python, [script, folder + "/clickhouse", "\(port)"], stage: .broker,
                readyPort: port))
        replicaPorts = [port]
    }

    private func subfolder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        return "\(folder)/\(name)"
    }

    // MARK: - Programs of Lockstep

    /// The options of a program with a certificate.
    private func certificate(_ path: String) -> [String] {
        guard isNATS else { return [] }
        let path = "\(folder)/secure/\(path)"
        return ["--ca-file", "\(folder)/secure/ca.pem", "--cert-file", path + ".pem", "--key-file", path + ".key"]
    }

    /// The path of a program beside this one.
    static func program(_ name: String) throws -> String {
        guard let path = ProgramLocation.lockstep(name) else { throw ProgramError("\(name) is not built") }
        return path
    }

    /// The collectors. ClickHouse 18.16 cannot wait until rows are on the disk.
    func collectors() throws -> [SystemPart] {
        try Self.collectorNames.map { name in
            SystemPart(
                name, program: try Self.program("lockstep-collector"),
                [
                    "--broker", broker, "--store", store, "--sync", "normal", "--cluster", "local", "--lease-server",
                    leaseServers, "--id", name, "--group", "north", "--group", "south", "--group", "east", "--group",
                    "west:2",
                ] + (isReplicated ? ["--quorum", "majority"] : []) + certificate("collector"), stage: .collector,
                patience: .seconds(20))
        }
    }

    func page() throws -> SystemPart {
        SystemPart(
            "page", program: try Self.program("lockstep-serve"),
            [
                "--broker", broker, "--store", store, "--listen", listen, "--page",
                checkout + "/Sources/LockstepServe/Page",
            ] + certificate("serve"), stage: .services)
    }

    /// An agent for each group. Its batches are large, because a backlog is sent slowly while commits take long.
    func agents() throws -> [SystemPart] {
        try Self.groups.map { group in
            SystemPart(
                "agent-\(group)", program: try Self.program("lockstep-agent"),
                [
                    "--broker", broker, "--group", group, "--device", "agent", "--source", "simulate:1", "--window",
                    "2s", "--outbox", outbox(of: group), "--journal",
                ] + certificate("devices/lab/arm-left/device"), stage: .devices)
        }
    }

    func outbox(of group: String) -> String { "\(folder)/\(group).outbox" }

    /// The arguments of `lockstep` that simulate the other devices of a group, with a common connection for each ten.
    func simulation(of group: String, devices: Int) -> [String] {
        [
            "simulate", "--broker", broker, "--group", group, "--devices", "\(devices)", "--connections",
            "\((devices + 9) / 10)", "--minutes", "100000", "--sample-rate", "10", "--patience", "300", "--json",
        ] + certificate("devices/lab/arm-left/device")
    }

    /// The arguments of `lockstep` that look up every sample which the agents have accepted.
    var verification: [String] {
        ["verify", "--store", store] + Self.groups.flatMap { ["--journal", "\($0)/agent=\(outbox(of: $0))"] }
    }
}
