import Foundation
import LockstepMQTT
import LockstepStore
import LockstepTestSupport

/// A mosquitto with the configuration of `lockstep certs`, on loopback ports, and the programs that use it.
final class SecureBroker {
    let folder: String
    let credentials: Credentials
    let port: UInt16
    let passwordPort: UInt16
    private(set) var broker: RunningProgram?
    private var programs: [RunningProgram] = []
    private var clients: [TestClient] = []

    var url: String { "mqtts://localhost:\(port)" }
    var passwordURL: String { "mqtts://localhost:\(passwordPort)" }
    var storePath: String { folder + "/store.db" }
    private var configuration: String { credentials.folder + "/mosquitto.conf" }

    fileprivate init(folder: String, credentials: Credentials) throws {
        self.folder = folder
        self.credentials = credentials
        port = try freePort()
        passwordPort = try freePort()
    }

    /// Replaces the ports of the configuration by loopback ports, and changes nothing else.
    fileprivate func prepare() throws {
        let text = try String(contentsOfFile: configuration, encoding: .utf8)
            .replacing("listener 8883\n", with: "listener \(port) 127.0.0.1\n")
            .replacing("listener 8884\n", with: "listener \(passwordPort) 127.0.0.1\n")
        // If started as root, mosquitto would switch to another user, who cannot read this folder.
        try ("user root\n" + text).write(toFile: configuration, atomically: true, encoding: .utf8)
    }

    /// Starts the broker and waits until it listens.
    func start() async throws {
        guard let path = Programs.installed("mosquitto") else { throw ProgramError("mosquitto is not installed") }
        let program = try RunningProgram(path, ["-c", configuration])
        broker = program
        guard await eventually({ canConnect(port: port) || !program.isRunning }), program.isRunning else {
            throw ProgramError("mosquitto failed to start: \(program.text)")
        }
    }

    func run(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws -> RunningProgram {
        let program = try RunningProgram(path, arguments, environment: environment)
        programs.append(program)
        return program
    }

    func startCollector() throws -> RunningProgram {
        try run(
            Programs.built("lockstep-collector"),
            ["--config", credentials.folder + "/collector.yaml", "--broker", url, "--store", "sqlite:\(storePath)"])
    }

    /// Starts an agent of the group `lab`, with the certificate of `user` unless that is nil.
    func startAgent(
        _ device: String, as user: String? = nil, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try run(
            Programs.built("lockstep-agent"),
            [
                "--group", "lab", "--device", device, "--source", "simulate:1", "--outbox",
                "\(folder)/\(device).outbox", "--journal", "--window", "200ms",
            ] + (user.map { ["--broker", url] + credentials.options(credentials.tls($0)) } ?? []) + arguments,
            environment: environment)
    }

    func connect(
        as user: String, _ filters: [String] = ["lockstep/#"], version: MQTTVersion? = nil, id: String? = nil,
        will: MQTTMessage? = nil
    ) async throws -> TestClient {
        let client = TestClient(
            BrokerAddress(host: "localhost", port: port, usesTLS: true), filters: filters, version: version,
            tls: credentials.tls(user), id: id, will: will)
        return try await listening(client)
    }

    /// Connects a client that authenticates with a password.
    func connect(as user: String, password: String, _ filters: [String]) async throws -> TestClient {
        try await listening(
            TestClient(
                BrokerAddress(
                    host: "localhost", port: passwordPort, usesTLS: true, user: user, password: password),
                filters: filters, tls: credentials.trusting))
    }

    private func listening(_ client: TestClient) async throws -> TestClient {
        clients.append(client)
        guard await client.waitUntilListening() else { throw ProgramError("the test's client cannot subscribe") }
        return client
    }

    fileprivate func stop() async {
        for client in clients { await client.stop() }
        for program in programs.reversed() { await program.stop(SIGKILL) }
        await broker?.stop()
    }
}

/// Calls `body` with a secured broker that knows the device `lab/walker`, and stops all programs when `body` returns or
/// throws.
func withSecureBroker<Result>(
    passwords: Bool = false, starts: Bool = true, _ body: (SecureBroker) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let credentials = try await Credentials.make(in: folder + "/secure", passwords ? ["--passwords"] : [])
        try await credentials.add("walker")
        let broker = try SecureBroker(folder: folder, credentials: credentials)
        try broker.prepare()
        return try await finally({ await broker.stop() }) {
            if starts { try await broker.start() }
            return try await body(broker)
        }
    }
}
