public import Foundation
import FoundationNetworking
import LockstepSystem
import Synchronization

/// A ClickHouse server on free loopback ports.
public final class TestClickHouse: Sendable {
    /// The port of the HTTP interface.
    public let port: UInt16
    /// The folder of the tables.
    public let dataFolder: String
    private let configuration: String
    private let program = Mutex<RunningProgram?>(nil)

    /// A version of ClickHouse.
    public enum Engine: Sendable {
        /// Debian's package `clickhouse-server`.
        case server
        /// The Python package `chdb-core`, the current engine in a process.
        case current
    }

    /// The engine that the tests use: Debian's, or the current one if that is not installed or `LOCKSTEP_CLICKHOUSE` is
    /// `current`; nil if none is installed.
    public static let engine: Engine? = {
        let environment = ProcessInfo.processInfo.environment
        if environment["LOCKSTEP_CLICKHOUSE"] != "current", Programs.isInstalled("clickhouse-server") { return .server }
        return Programs.referencePython == nil ? nil : .current
    }()

    /// Whether an engine is installed.
    public static var isInstalled: Bool { engine != nil }
    /// Whether the engine is a server with all that belongs to one: replication, a configuration, the native protocol.
    public static var isServer: Bool { engine == .server }

    init(folder: String, settings: String) throws {
        port = try freePort()
        dataFolder = folder + "/data"
        configuration = folder + "/clickhouse.xml"
        try Self.writeConfiguration(
            to: configuration, in: folder, listensOn: "127.0.0.1", port: port, nativePort: try freePort(),
            settings: settings)
    }

    /// Writes the configuration of a server.
    /// - Parameters:
    ///   - listensOn: `127.0.0.1` or `0.0.0.0`.
    ///   - port: the port of the HTTP interface.
    ///   - settings: further elements.
    public static func writeConfiguration(
        to path: String, in folder: String, listensOn address: String, port: UInt16, nativePort: UInt16,
        settings: String
    ) throws {
        let settings = ClickHouseSettings(
            folder: folder, address: address, port: port, nativePort: nativePort, more: settings)
        try settings.text.write(toFile: path, atomically: true, encoding: .utf8)
        try settings.users.write(toFile: settings.usersFile, atomically: true, encoding: .utf8)
    }

    /// Returns the address of a database.
    public func url(_ database: String = "lockstep") -> String { "clickhouse://127.0.0.1:\(port)/\(database)" }

    /// Starts the server and waits until it listens.
    public func start() async throws {
        let program =
            if Self.isServer, let path = Programs.installed("clickhouse-server") {
                try RunningProgram(path, ["--config-file=\(configuration)"])
            } else if Self.engine == .current, let python = Programs.referencePython {
                try RunningProgram(
                    python,
                    [Programs.source("Tests/LockstepTestSupport/clickhouse_engine.py"), dataFolder, "\(port)"])
            } else {
                throw ProgramError("ClickHouse is not installed")
            }
        self.program.withLock { $0 = program }
        guard await eventually({ canConnect(port: port) || !program.isRunning }), program.isRunning else {
            throw ProgramError("ClickHouse failed to start: \(program.text)")
        }
    }

    /// Stops the server with a signal.
    public func stop(_ signal: Int32 = SIGTERM) async {
        guard let program = program.withLock({ $0.take() }) else { return }
        program.signal(signal)
        await program.waitForExit()
    }

    /// Executes a statement.
    /// - Returns: the rows as text, with a tab between two values.
    @discardableResult
    public func execute(_ statement: String, in database: String = "lockstep") async throws -> [String] {
        guard let url = URL(string: "http://127.0.0.1:\(port)/?database=\(database)") else { return [] }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(statement.utf8)
        let (body, response) = try await URLSession.shared.data(for: request)
        let text = String(decoding: body, as: UTF8.self)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw ProgramError("\(statement): \(text)") }
        return text.split(separator: "\n").map(String.init)
    }
}

/// Calls `body` with a running ClickHouse server, and stops it when `body` returns or throws.
/// - Parameter settings: further elements of the server's configuration.
public func withClickHouse<Result>(
    settings: String = "", _ body: (TestClickHouse) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let server = try TestClickHouse(folder: folder, settings: settings)
        try await server.start()
        return try await finally({ await server.stop(SIGKILL) }) { try await body(server) }
    }
}
