import Foundation
import LockstepMQTT
import LockstepNATS
import LockstepTestSupport
import Testing

/// The three nodes of `broker-config/nats`, on loopback ports and with separate folders.
final class NATSCluster {
    /// The MQTT ports of the nodes.
    let ports: [UInt16]
    /// The ports of the nodes for NATS's own protocol.
    let leasePorts: [UInt16]
    private(set) var nodes: [RunningProgram] = []
    private let folder: String
    private var stoppedNodes: [RunningProgram] = []
    private var programs: [RunningProgram] = []

    /// Starts the nodes with copies of the configuration, in which ports, host names and folders are replaced.
    /// - Parameter deviceRights: the subjects of the example device, in place of its own.
    fileprivate init(folder: String, credentials: Credentials, deviceRights: String?) throws {
        let count = 3
        self.folder = folder
        ports = try (0..<count).map { _ in try freePort() }
        leasePorts = try (0..<count).map { _ in try freePort() }
        let routes = try (0..<count).map { _ in try freePort() }
        for node in 0..<count {
            let home = "\(folder)/node-\(node + 1)"
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            var replacements = [
                ("/etc/nats/lockstep", credentials.folder), ("/var/lib/nats/lockstep", home + "/messages"),
                ("127.0.0.1:4222", "127.0.0.1:\(leasePorts[node])"), ("0.0.0.0:8883", "127.0.0.1:\(ports[node])"),
                ("0.0.0.0:6222", "127.0.0.1:\(routes[node])"),
            ]
            if let deviceRights { replacements.append(("lockstep.lab.arm-left.", deviceRights)) }
            replacements += (0..<count).map { ("nats-\($0 + 1):6222", "localhost:\(routes[$0])") }
            for file in ["common.conf", "node-\(node + 1).conf"] {
                let text = try String(
                    contentsOfFile: Programs.source("broker-config/nats/\(file)"), encoding: .utf8)
                try replacements.reduce(text) { $0.replacing($1.0, with: $1.1) }
                    .write(toFile: "\(home)/\(file)", atomically: true, encoding: .utf8)
            }
            nodes.append(try startNode(node))
        }
    }

    private func startNode(_ node: Int) throws -> RunningProgram {
        try RunningProgram(
            Programs.installed("nats-server") ?? "", ["-c", "\(folder)/node-\(node + 1)/node-\(node + 1).conf"])
    }

    /// Starts a node again that was stopped.
    func restart(_ node: Int) throws {
        stoppedNodes.append(nodes[node])
        nodes[node] = try startNode(node)
    }

    /// The addresses of all nodes, with the given one first.
    func urls(from first: Int = 0) -> String {
        ports.indices.map { url((first + $0) % ports.count) }.joined(separator: ",")
    }

    /// The addresses of all nodes for leases.
    var leaseServers: String { leasePorts.map { "tls://localhost:\($0)" }.joined(separator: ",") }

    /// The options of a connection for leases.
    func leaseOptions(_ tls: TLSOptions) throws -> NATSOptions {
        var options = NATSOptions(servers: try NATSServers(leaseServers), name: "test")
        options.authorityFile = tls.authorityFile
        options.certificateFile = tls.certificateFile
        options.keyFile = tls.keyFile
        return options
    }

    func url(_ node: Int) -> String { "mqtts://localhost:\(ports[node])" }

    /// The output of all nodes.
    var text: String { (stoppedNodes + nodes).map(\.text).joined(separator: "\n") }

    /// Starts a program of this package, which is stopped with the cluster.
    func run(_ name: String, _ arguments: [String]) throws -> RunningProgram {
        let program = try RunningProgram(Programs.built(name), arguments)
        programs.append(program)
        return program
    }

    fileprivate func stop() async { for program in programs + nodes { await program.stop(SIGKILL) } }
}

/// Calls `body` with a running cluster that knows the device `lab/arm-left`, and stops it when `body` returns or
/// throws.
func withNATSCluster<Result>(
    deviceRights: String? = nil,
    _ body: (_ cluster: NATSCluster, _ credentials: Credentials, _ folder: String) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let credentials = try await Credentials.make(in: folder + "/secure")
        try await credentials.add("arm-left")
        let cluster = try NATSCluster(folder: folder, credentials: credentials, deviceRights: deviceRights)
        do {
            await expectEventually("\(cluster.text)", within: .seconds(120)) {
                cluster.ports.allSatisfy { canConnect(port: $0) }
                    && cluster.text.contains("JetStream cluster new metadata leader")
            }
            let result = try await body(cluster, credentials, folder)
            await cluster.stop()
            return result
        } catch {
            await cluster.stop()
            throw error
        }
    }
}
