import Foundation
import LockstepTestSupport

/// The addresses of a node of a NATS cluster with the configuration of `broker-config/nats`.
struct NATSNode {
    let host: String
    let listensOn: String
    /// The port for MQTT.
    var port: UInt16 = 8883
    /// The port for NATS's own protocol.
    var leasePort: UInt16 = 4222
    /// The port for the other nodes.
    var routePort: UInt16 = 6222

    /// Writes copies of the configuration of three nodes, in which ports, host names and folders are replaced.
    /// - Parameter deviceRights: the subjects of the example device, in place of its own.
    /// - Returns: the path of the file of each node.
    static func writeConfiguration(
        of nodes: [NATSNode], in folder: String, _ credentials: Credentials, deviceRights: String?
    ) throws -> [String] {
        try nodes.indices.map { index in
            let node = nodes[index]
            let home = "\(folder)/node-\(index + 1)"
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            var replacements = [
                ("/etc/nats/lockstep", credentials.folder), ("/var/lib/nats/lockstep", home + "/messages"),
                ("127.0.0.1:4222", "\(node.listensOn):\(node.leasePort)"),
                ("0.0.0.0:8883", "\(node.listensOn):\(node.port)"),
                ("0.0.0.0:6222", "\(node.listensOn):\(node.routePort)"),
            ]
            if let deviceRights { replacements.append(("lockstep.lab.arm-left.", deviceRights)) }
            replacements += nodes.indices.map { ("nats-\($0 + 1):6222", "\(nodes[$0].host):\(nodes[$0].routePort)") }
            for file in ["common.conf", "node-\(index + 1).conf"] {
                let text = try String(
                    contentsOfFile: Programs.source("broker-config/nats/\(file)"), encoding: .utf8)
                try replacements.reduce(text) { $0.replacing($1.0, with: $1.1) }
                    .write(toFile: "\(home)/\(file)", atomically: true, encoding: .utf8)
            }
            return "\(home)/node-\(index + 1).conf"
        }
    }
}
