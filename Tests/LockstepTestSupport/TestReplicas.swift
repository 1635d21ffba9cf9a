import Foundation
import Synchronization

/// ClickHouse servers with one ZooKeeper server on free loopback ports, for replicated tables.
public final class TestReplicas: Sendable {
    /// The servers. The macro `replica` of each is its index.
    public let servers: [TestClickHouse]
    private let configuration: String
    private let keeperPort: UInt16
    private let keeper = Mutex<RunningProgram?>(nil)

    /// Whether the servers are installed.
    public static var areInstalled: Bool {
        TestClickHouse.isServer && Programs.isInstalled("java")
            && FileManager.default.fileExists(atPath: "/usr/share/java/zookeeper.jar")
    }

    fileprivate init(folder: String, count: Int) throws {
        keeperPort = try freePort()
        configuration = folder + "/zoo.cfg"
        try """
        tickTime=250
        dataDir=\(folder)/keeper
        clientPort=\(keeperPort)
        clientPortAddress=127.0.0.1
        admin.enableServer=false
        """.write(toFile: configuration, atomically: true, encoding: .utf8)
        var servers: [TestClickHouse] = []
        for index in 0..<count {
            let path = "\(folder)/\(index)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            servers.append(
                try TestClickHouse(
                    folder: path,
                    settings: """
                        <interserver_http_port>\(try freePort())</interserver_http_port>
                        <interserver_http_host>127.0.0.1</interserver_http_host>
                        <zookeeper>
                            <node><host>127.0.0.1</host><port>\(keeperPort)</port></node>
                            <session_timeout_ms>3000</session_timeout_ms>
                        </zookeeper>
                        <macros><replica>\(index)</replica></macros>
                        """))
        }
        self.servers = servers
    }

    /// Returns the address of a database on all servers.
    public func url(_ database: String = "lockstep") -> String {
        "clickhouse://\(servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))/\(database)"
    }

    /// Starts ZooKeeper and waits until it listens.
    public func startKeeper() async throws {
        guard let java = Programs.installed("java") else { throw ProgramError("java is not installed") }
        let jars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
        let program = try RunningProgram(
            java,
            [
                "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration,
            ])
        keeper.withLock { $0 = program }
        guard await eventually({ canConnect(port: keeperPort) || !program.isRunning }), program.isRunning else {
            throw ProgramError("ZooKeeper failed to start: \(program.text)")
        }
    }

    /// Kills ZooKeeper.
    public func stopKeeper() async {
        guard let program = keeper.withLock({ $0.take() }) else { return }
        program.signal(SIGKILL)
        await program.waitForExit()
    }

    fileprivate func stop() async {
        for server in servers { await server.stop(SIGKILL) }
        await stopKeeper()
    }
}

/// Calls `body` with running ClickHouse servers that can replicate tables, and stops them when `body` returns or throws.
public func withReplicas<Result>(
    _ count: Int, _ body: (TestReplicas) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let replicas = try TestReplicas(folder: folder, count: count)
        do {
            try await replicas.startKeeper()
            for server in replicas.servers { try await server.start() }
            let result = try await body(replicas)
            await replicas.stop()
            return result
        } catch {
            await replicas.stop()
            throw error
        }
    }
}
