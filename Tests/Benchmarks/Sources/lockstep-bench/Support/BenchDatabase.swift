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
    private let port: Int
    private let process: Launched

    /// - Parameter folder: the folder of its files.
    init(in folder: String) throws {
        guard FileManager.default.fileExists(atPath: "/usr/share/java/zookeeper.jar") else {
            throw Failure("ZooKeeper is missing: install the packages libzookeeper-java and default-jre-headless")
        }
        port = Int(try freePort())
        let settings = """
            tickTime=500
            dataDir=\(folder)/keeper
            clientPort=\(port)
            clientPortAddress=127.0.0.1
            admin.enableServer=false
            """
        try settings.write(toFile: folder + "/keeper.cfg", atomically: true, encoding: .utf8)
        process = try Launched(
            "java",
            [
                "-Xmx256m", "-XX:+UseSerialGC", "-cp",
                "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder + "/keeper.cfg",
            ])
    }

    func stop() { process.stop() }

    /// The settings of a ClickHouse server.
    func settings(ofReplica index: Int) throws -> String {
        """
        <interserver_http_port>\(try freePort())</interserver_http_port>
        <interserver_http_host>127.0.0.1</interserver_http_host>
        <zookeeper>
            <node><host>127.0.0.1</host><port>\(port)</port></node>
            <session_timeout_ms>6000</session_timeout_ms>
        </zookeeper>
        <macros><replica>\(index)</replica></macros>
        """
    }
}
