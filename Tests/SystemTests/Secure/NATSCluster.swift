import Foundation
import LockstepCollector
import LockstepMQTT
import LockstepTestSupport
import Testing

@testable import lockstep_cluster

/// The three nodes of `broker-config/nats`, on loopback ports and with separate folders.
final class NATSCluster {
    /// The MQTT ports of the nodes.
    let ports: [UInt16]
    /// The ports of the nodes for NATS's own protocol.
    let leasePorts: [UInt16]
    private(set) var nodes: [RunningProgram] = []
    private let configurations: [String]
    private var stoppedNodes: [RunningProgram] = []
    private var programs: [RunningProgram] = []

    /// Starts the nodes with copies of the configuration.
    fileprivate init(folder: String, credentials: Credentials, servesAllDevices: Bool) throws {
        let addresses = try NATSNode.onLoopback()
        ports = addresses.map(\.port)
        leasePorts = addresses.map(\.leasePort)
        configurations = try NATSNode.writeConfiguration(
            of: addresses, in: folder, shipped: Programs.source("broker-config/nats"),
            certificates: credentials.folder, servesAllDevices: servesAllDevices)
        for node in addresses.indices { nodes.append(try startNode(node)) }
    }

    private func startNode(_ node: Int) throws -> RunningProgram {
        try RunningProgram(Programs.installed("nats-server") ?? "", ["-c", configurations[node]])
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
/// - Parameter servesAllDevices: whether the certificate of that device has the rights of all devices.
func withNATSCluster<Result>(
    servesAllDevices: Bool = false,
    _ body: (_ cluster: NATSCluster, _ credentials: Credentials, _ folder: String) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let credentials = try await Credentials.make(in: folder + "/secure")
        try await credentials.add("arm-left")
        let cluster = try NATSCluster(folder: folder, credentials: credentials, servesAllDevices: servesAllDevices)
        return try await finally({ await cluster.stop() }) {
            await expectEventually("\(cluster.text)", within: .seconds(120)) {
                cluster.ports.allSatisfy { canConnect(port: $0) }
                    && cluster.text.contains(NATSNode.leaderLine)
            }
            return try await body(cluster, credentials, folder)
        }
    }
}
