public import Foundation
public import LockstepMQTT
import Synchronization

/// A mosquitto on a free loopback port.
public final class TestBroker: Sendable {
    public let port: UInt16
    private let folder: String
    private let configuration: String
    private let program = Mutex<RunningProgram?>(nil)

    public var address: BrokerAddress { BrokerAddress(host: "127.0.0.1", port: port) }
    public var url: String { "mqtt://127.0.0.1:\(port)" }

    fileprivate init(folder: String, isPersistent: Bool, settings: [String]) throws {
        port = try freePort()
        self.folder = folder
        configuration = folder + "/mosquitto-\(port).conf"
        var lines = [
            "listener \(port) 127.0.0.1", "max_queued_messages 0", "max_inflight_messages 0",
            "log_type error", "log_type warning", "log_type notice",
            // If started as root, mosquitto would switch to another user, who cannot write to this folder.
            "user root",
        ]
        if isPersistent {
            lines += [
                "persistence true", "persistence_location \(folder)/", "autosave_on_changes true",
                "autosave_interval 1",
            ]
        }
        if !settings.contains(where: { $0.hasPrefix("allow_anonymous") }) { lines.append("allow_anonymous true") }
        try (lines + settings).joined(separator: "\n").appending("\n")
            .write(toFile: configuration, atomically: true, encoding: .utf8)
    }

    /// Starts the broker and waits until it listens.
    public func start() async throws {
        guard let path = Programs.installed("mosquitto") else { throw ProgramError("mosquitto is not installed") }
        let program = try RunningProgram(path, ["-c", configuration])
        self.program.withLock { $0 = program }
        guard await eventually({ canConnect(port: port) || !program.isRunning }), program.isRunning else {
            throw ProgramError("mosquitto failed to start: \(program.text)")
        }
    }

    /// What the broker has logged since its start: connections and their ends, warnings and errors.
    public var text: String { program.withLock { $0 }?.text ?? "" }

    /// The id of the broker's process, or nil if it is stopped.
    public var pid: Int32? { program.withLock { $0 }?.pid }

    /// Sends a signal to the broker: SIGSTOP makes it hang, SIGCONT resumes it.
    public func signal(_ signal: Int32) { program.withLock { $0 }?.signal(signal) }

    /// Stops the broker with a signal.
    public func stop(_ signal: Int32 = SIGTERM) async {
        await program.withLock { $0.take() }?.stop(signal)
    }
}

/// Calls `body` with a running broker, and stops the broker when `body` returns or throws.
public func withBroker<Result>(
    isPersistent: Bool = false, settings: [String] = [], _ body: (TestBroker) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        let broker = try TestBroker(folder: folder, isPersistent: isPersistent, settings: settings)
        try await broker.start()
        return try await finally({ await broker.stop() }) { try await body(broker) }
    }
}
