import Foundation
import LockstepSystem
import Synchronization

/// ClickHouse servers with one ZooKeeper server on free loopback ports, for replicated tables.
public final class TestReplicas: Sendable {
    /// The servers. The macro `replica` of each is its index.
    public let servers: [TestClickHouse]
    private let keeperSettings: KeeperSettings
    private let keeper = Mutex<RunningProgram?>(nil)

    /// Whether the servers are installed.
    public static var areInstalled: Bool { TestClickHouse.isServer && KeeperSettings.isInstalled }

    fileprivate init(folder: String, count: Int) throws {
        let port = try freePort()
        keeperSettings = KeeperSettings(folder: folder + "/keeper", port: port)
        var servers: [TestClickHouse] = []
        for index in 0..<count {
            let path = "\(folder)/\(index)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let settings = ReplicaSettings(
                name: "\(index)", port: try freePort(), keepers: [KeeperAddress(port: port)], sessionTimeout: 3000)
            servers.append(try TestClickHouse(folder: path, settings: settings.elements))
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
        let program = try RunningProgram(java, try keeperSettings.write())
        keeper.withLock { $0 = program }
        guard await eventually({ canConnect(port: keeperSettings.port) || !program.isRunning }), program.isRunning
        else {
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
        return try await finally({ await replicas.stop() }) {
            try await replicas.startKeeper()
            for server in replicas.servers { try await server.start() }
            return try await body(replicas)
        }
    }
}
