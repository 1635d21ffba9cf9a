import LockstepCollector
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Logging
import Synchronization

/// A collector in this process, whose interval of health reports can be set. Its log contains all levels.
final class LocalCollector: Sendable {
    private let log = Log()
    private let run: Task<Void, any Error>

    /// Starts a collector.
    /// - Parameters:
    ///   - healthInterval: the interval of health reports, in s.
    ///   - version: the version of MQTT, or nil for the default.
    init(
        _ store: String, _ system: TestSystem, healthInterval: Double, version: MQTTVersion? = nil,
        takesOver: Bool = false
    ) throws {
        var configuration = CollectorConfiguration(
            id: try CollectorID(validating: "main"), broker: system.broker.address)
        configuration.healthInterval = Int64(healthInterval * 1e6)
        configuration.broker.version = version
        if takesOver { configuration.sessionClaim = .takeOver }
        let path = "\(system.folder)/\(store)"
        let collector = Collector(
            configuration, logger: Logger(label: "test") { [log] _ in Handler(output: log) },
            makeStore: { try SQLiteStore(path: path) })
        run = Task { try await collector.run() }
    }

    deinit { run.cancel() }

    /// What the collector has logged.
    var text: String { log.text.withLock { $0 } }

    /// The number of connections to the broker so far.
    var connections: Int { text.split(separator: "\n").count { $0.hasPrefix("connected to broker") } }

    func waitForOutput(_ part: String, within limit: Duration = .seconds(120)) async -> Bool {
        await eventually(within: limit) { text.contains(part) }
    }

    /// Stops the collector, and waits until its store is closed.
    func stop() async throws {
        run.cancel()
        try await run.value
    }

    private final class Log: Sendable {
        let text = Mutex("")
    }

    private struct Handler: LogHandler {
        let output: Log
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            output.text.withLock { $0 += event.message.description + values.joined() + "\n" }
        }
    }
}
