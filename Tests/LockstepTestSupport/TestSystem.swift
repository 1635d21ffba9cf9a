import Foundation
public import LockstepMQTT
public import LockstepStore

/// A whole Lockstep on loopback: a broker, and collectors and agents as the programs that people run.
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

    /// Starts an agent that keeps a journal; its outbox survives in the system's folder.
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
        guard await client.waitUntilListening() else { throw ProgramError("the test's client does not get through") }
        return client
    }

    /// Waits until a first collector takes in what is published: what comes before it has subscribed passes it by.
    public func waitForSubscription() async throws {
        let client = try await connect(["lockstep/+/$collector/main"])
        // It subscribes first, and the broker takes both in this order.
        guard await client.waitForMessage(where: { $0.text.contains(#""status":"online""#) }) != nil else {
            throw ProgramError("the collector does not come online")
        }
    }

    /// Opens the store for reading, waiting until there is one.
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

    /// Runs a device's agent, which must not run now, until nothing is left in its outbox.
    /// - Parameter path: of the outbox, where it is another than the device's usual one.
    public func drain(_ device: String, outbox path: String? = nil) async throws {
        let recording = folder + "/one-sample.csv"
        try "t_us,x_g,y_g,z_g\n0,0,0,-1\n".write(toFile: recording, atomically: true, encoding: .utf8)
        // It ends by itself when everything, old and new, is acknowledged.
        let agent = try startAgent(
            device, source: "replay:\(recording)", ["--backlog-rate", "4M"] + (path.map { ["--outbox", $0] } ?? []))
        guard await agent.waitForExit(within: .seconds(120)) == 0 else {
            throw ProgramError("the outbox of \(device) does not get empty: \(agent.text)")
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

/// Gives `body` a system with a running broker, and stops everything afterwards, on every path.
public func withSystem<Result>(
    isPersistent: Bool = false, brokerSettings: [String] = [], _ body: (TestSystem) async throws -> Result
) async throws -> Result {
    try await withBroker(isPersistent: isPersistent, settings: brokerSettings) { broker in
        try await withTemporaryFolder { folder in
            let system = TestSystem(folder: folder, broker: broker)
            do {
                let result = try await body(system)
                await system.stop()
                return result
            } catch {
                await system.stop()
                throw error
            }
        }
    }
}
