import Foundation
public import LockstepMQTT
public import LockstepStore

/// A complete system on loopback: a broker, and collectors and agents as separate processes.
public final class TestSystem {
    public let folder: String
    public let broker: TestBroker
    private var programs: [RunningProgram] = []
    private var clients: [TestClient] = []

    public var storePath: String { folder + "/store.db" }

    fileprivate init(folder: String, broker: TestBroker) {
        self.folder = folder
        self.broker = broker
    }

    public func start(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws
        -> RunningProgram
    {
        let program = try RunningProgram(Programs.built(name), arguments, environment: environment)
        programs.append(program)
        return program
    }

    public func startCollector(_ arguments: [String] = [], url: String? = nil) throws -> RunningProgram {
        try start(
            "lockstep-collector", ["--broker", url ?? broker.url, "--store", "sqlite:\(storePath)"] + arguments)
    }

    /// Starts an agent with a journal. Its outbox is in the system's folder and survives a restart of the agent.
    public func startAgent(
        _ device: String, source: String = "simulate:1", _ arguments: [String] = [], url: String? = nil,
        environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try start(
            "lockstep-agent",
            [
                "--broker", url ?? broker.url, "--device", device, "--source", source, "--outbox", outbox(of: device),
                "--journal", "--window", "200ms",
            ] + arguments, environment: environment)
    }

    public func outbox(of device: String) -> String { "\(folder)/\(device).outbox" }

    public func connect(_ filters: [String] = ["lockstep/#"], version: MQTTVersion? = nil) async throws -> TestClient {
        let client = TestClient(broker.address, filters: filters, version: version)
        clients.append(client)
        guard await client.waitUntilListening() else { throw ProgramError("the test's client cannot subscribe") }
        return client
    }

    /// Waits until the first collector has subscribed. It does not receive messages that are published before.
    public func waitForSubscription() async throws {
        let client = try await connect(["lockstep/+/$collector/main"])
        // The collector subscribes before it publishes that it is online, and the broker keeps that order.
        guard await client.waitForMessage(where: { $0.text.contains(#""status":"online""#) }) != nil else {
            throw ProgramError("the collector is not online")
        }
    }

    /// Waits until the store exists, and opens it for reading.
    public func reader() async throws -> StoreReader {
        var last: (any Error)?
        var reader: StoreReader?
        _ = await eventually {
            do { reader = try StoreReader(path: storePath) } catch { last = error }
            return reader != nil
        }
        guard let reader else { throw last ?? ProgramError("no store") }
        return reader
    }

    /// Runs a device's agent until its outbox is empty. The agent must not be running already.
    /// - Parameter path: The outbox, if it is not the default one of the device.
    public func drain(_ device: String, outbox path: String? = nil) async throws {
        let recording = folder + "/one-sample.csv"
        try "t_us,x_g,y_g,z_g\n0,0,0,-1\n".write(toFile: recording, atomically: true, encoding: .utf8)
        // A replaying agent ends when all batches are acknowledged, including old ones.
        let agent = try startAgent(
            device, source: "replay:\(recording)", ["--backlog-rate", "4M"] + (path.map { ["--outbox", $0] } ?? []))
        guard await agent.waitForExit(within: .seconds(120)) == 0 else {
            throw ProgramError("the outbox of \(device) is not empty after 120 s: \(agent.text)")
        }
    }

    /// Runs `lockstep verify` against the journals of `devices`.
    public func verify(_ devices: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"),
            ["verify", "--store", "sqlite:\(storePath)"]
                + devices.flatMap { ["--journal", "\($0)=\(outbox(of: $0))"] })
    }

    fileprivate func stop() async {
        for client in clients { await client.stop() }
        for program in programs.reversed() { await program.stop(SIGKILL) }
    }
}

/// Calls `body` with a system whose broker is running, and stops all its programs when `body` returns or throws.
public func withSystem<Result>(
    isPersistent: Bool = false, brokerSettings: [String] = [], _ body: (TestSystem) async throws -> Result
) async throws -> Result {
    try await withBroker(isPersistent: isPersistent, settings: brokerSettings) { broker in
        try await withTemporaryFolder { folder in
            let system = TestSystem(folder: folder, broker: broker)
            return try await finally({ await system.stop() }) { try await body(system) }
        }
    }
}
