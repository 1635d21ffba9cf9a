import Foundation
import LockstepSystem

/// A database of a collector: one ClickHouse server, or replicas with a keeper.
struct BenchDatabase {
    let servers: [BenchClickHouse]
    private let keeper: BenchKeeper?
    private static let quorumOption = ["--quorum", "majority"]

    /// - Parameters:
    ///   - replicas: the number of replicas; 1 for tables that are not replicated.
    ///   - folder: the folder of their files.
    init(replicas: Int = 1, in folder: String) throws {
        var servers: [BenchClickHouse] = []
        keeper = replicas > 1 ? try BenchKeeper(in: folder) : nil
        do {
            for index in 0..<replicas {
                servers.append(
                    try BenchClickHouse(in: "\(folder)/\(index)", settings: keeper?.settings(ofReplica: index) ?? ""))
            }
        } catch {
            for server in servers { server.stop() }
            keeper?.stop()
            throw error
        }
        self.servers = servers
    }

    func stop() {
        for server in servers { server.stop() }
        keeper?.stop()
    }

    /// The options of a collector that stores here. ClickHouse 18.16 cannot wait until rows are on the disk.
    var options: [String] {
        let hosts = servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return ["--store", "clickhouse://\(hosts)/lockstep", "--sync", "normal"]
            + (keeper == nil ? [] : Self.quorumOption)
    }

    /// The CPU time that all servers have used so far, in s.
    func cpuTime() throws -> Double { try servers.reduce(0) { $0 + (try $1.cpuTime()) } }

    /// The number of samples that a majority of the servers hold.
    func storedRows() throws -> Int {
        let counts = try servers.map { try $0.storedRows() }.sorted(by: >)
        return counts[servers.count / 2]
    }
}

/// A ZooKeeper server.
struct BenchKeeper {
    private let port: UInt16
    private let process: Launched

    /// - Parameter folder: the folder of its files.
    init(in folder: String) throws {
        guard KeeperSettings.isInstalled else {
            throw Failure("ZooKeeper is missing: install the packages libzookeeper-java and default-jre-headless")
        }
        let settings = KeeperSettings(folder: folder + "/keeper", port: try freePort())
        port = settings.port
        process = try Launched("java", try settings.write())
    }

    func stop() { process.stop() }

    /// The settings of a ClickHouse server.
    func settings(ofReplica index: Int) throws -> String {
        ReplicaSettings(
            name: "\(index)", port: try freePort(), keepers: [KeeperAddress(port: port)], sessionTimeout: 6000
        ).elements
    }
}
