import FoundationEssentials
import LockstepSystem

/// The addresses of a node of a NATS cluster with the configuration of `broker-config/nats`.
struct NATSNode: Sendable {
    /// The name by which the others reach it.
    var host: String
    /// The address to listen on, `127.0.0.1` or `0.0.0.0`.
    var listensOn: String
    /// The port for MQTT.
    var port: UInt16
    /// The port for NATS's own protocol, which leases use.
    var leasePort: UInt16
    /// The port for the other nodes.
    var routePort: UInt16

    /// Creates addresses, by default with the ports of the configuration.
    init(
        host: String, listensOn: String, port: UInt16 = 8883, leasePort: UInt16 = 4222, routePort: UInt16 = 6222
    ) {
        self.host = host
        self.listensOn = listensOn
        self.port = port
        self.leasePort = leasePort
        self.routePort = routePort
    }

    /// Creates the addresses of three nodes on free loopback ports.
    /// - Throws: ``ProgramError``.
    static func onLoopback() throws(ProgramError) -> [NATSNode] {
        var nodes: [NATSNode] = []
        for _ in 0..<3 {
            nodes.append(
                NATSNode(
                    host: "localhost", listensOn: "127.0.0.1", port: try freePort(), leasePort: try freePort(),
                    routePort: try freePort()))
        }
        return nodes
    }

    /// What a node logs when the cluster has elected a leader, so that clients can connect.
    static let leaderLine = "JetStream cluster new metadata leader"

    /// Writes copies of the configuration of three nodes, in which ports, host names and folders are replaced.
    /// - Parameters:
    ///   - shipped: the folder `broker-config/nats`.
    ///   - certificates: the folder that `lockstep certs` has created.
    ///   - servesAllDevices: whether the certificate of the example device has the rights of all devices.
    /// - Returns: the path of the file of each node.
    static func writeConfiguration(
        of nodes: [NATSNode], in folder: String, shipped: String, certificates: String, servesAllDevices: Bool
    ) throws -> [String] {
        try nodes.indices.map { index in
            let node = nodes[index]
            let home = "\(folder)/node-\(index + 1)"
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            var replacements = [
                ("/etc/nats/lockstep", certificates), ("/var/lib/nats/lockstep", home + "/messages"),
                ("127.0.0.1:4222", "\(node.listensOn):\(node.leasePort)"),
                ("0.0.0.0:8883", "\(node.listensOn):\(node.port)"),
                ("0.0.0.0:6222", "\(node.listensOn):\(node.routePort)"),
            ]
            if servesAllDevices {
                // `lockstep simulate` also reads the health of collectors.
                replacements += [
                    (#""lockstep.lab.arm-left.ack""#, #""lockstep.*.*.ack", "lockstep.*.$collector.*""#),
                    ("lockstep.lab.arm-left.", "lockstep.*.*."),
                ]
            }
            replacements += nodes.indices.map { ("nats-\($0 + 1):6222", "\(nodes[$0].host):\(nodes[$0].routePort)") }
            for file in ["common.conf", "node-\(index + 1).conf"] {
                let text = try String(contentsOfFile: "\(shipped)/\(file)", encoding: .utf8)
                try replacements.reduce(text) { $0.replacing($1.0, with: $1.1) }
                    .write(toFile: "\(home)/\(file)", atomically: true, encoding: .utf8)
            }
            return "\(home)/node-\(index + 1).conf"
        }
    }
}
